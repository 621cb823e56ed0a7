// What each page has: the skip link, and the switch of colours.

const main = document.getElementById("main");

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

const theme = document.getElementById("theme");
const systemTheme = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return (document.documentElement.dataset.theme ?? (systemTheme.matches ? "dark" : "light")) === "dark";
}

function nameTheme() {
  theme.textContent = isDark() ? "Light" : "Dark";
  theme.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
}

theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
systemTheme.addEventListener("change", nameTheme);
nameTheme();
