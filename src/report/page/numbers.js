// Numbers as people read them.

const count = d3.format(",");
const counted = (number, name) => `${count(number)} ${name}${number === 1 ? "" : "s"}`;
const thousands = (number) => (number < 1e6 ? count(number) : d3.format(".3~s")(number).replace("G", " B").replace("M", " M"));
const decimals = (number, digits = 3) => (number === null ? "–" : number.toFixed(digits).replace("-", "−"));

const significant = (number) => d3.format(",.4~r")(number);

/** A share of 1 as percent, with two significant digits. */
function percent(share) {
  const hundredths = 100 * share;
  if (hundredths === 0) return "0 %";
  if (hundredths < 0.01) return "< 0.01 %";
  return `${hundredths.toFixed(hundredths < 0.995 ? 2 : hundredths < 9.95 ? 1 : 0)} %`;
}
