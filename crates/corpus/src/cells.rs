//! Cells of Arrow columns as text or as numbers, whatever the column's type. `arrow-cast` could do the same, but with
//! the dependencies that only it needs, it took a quarter of the build time.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTemporalType, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, Float16Type, Float32Type, Float64Type,
};
use arrow_array::{
    Array, Float64Array, PrimitiveArray, StringArray, downcast_integer_array,
    downcast_temporal_array,
};
use arrow_schema::DataType;

/// Returns whether the cells of a column of this type are text or have one text form: numbers, booleans, dates, times,
/// and dictionaries of these.
pub fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Null | DataType::Boolean => true,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => true,
        DataType::Time32(_) | DataType::Time64(_) => true,
        kind => kind.is_numeric(),
    }
}

/// Returns a cell as text; `None` if it is null, or of a type that [`is_text`] refuses. Floats have their shortest
/// digits, decimals all those of their scale. Dates and times are as in ISO 8601; a timestamp with a time zone is in
/// UTC and ends with Z.
pub fn text(array: &dyn Array, row: usize) -> Option<Cow<'_, str>> {
    if array.is_null(row) {
        return None;
    }
    let text = downcast_temporal_array!(
        array => moment(array, row)?,
        DataType::Utf8 => return Some(array.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => return Some(array.as_string::<i64>().value(row).into()),
        DataType::Utf8View => return Some(array.as_string_view().value(row).into()),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = integer(dictionary.keys(), row)?;
            return text(dictionary.values(), usize::try_from(key).ok()?);
        }
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Float16 => format!("{:?}", f32::from(native::<Float16Type>(array, row))),
        DataType::Float32 => format!("{:?}", native::<Float32Type>(array, row)),
        DataType::Float64 => format!("{:?}", native::<Float64Type>(array, row)),
        DataType::Decimal32(..) => array.as_primitive::<Decimal32Type>().value_as_string(row),
        DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().value_as_string(row),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Decimal256(..) => array.as_primitive::<Decimal256Type>().value_as_string(row),
        _ => integer(array, row)?.to_string(),
    );
    Some(text.into())
}

/// Converts a column to text, with null for cells that have none; `None` if [`is_text`] refuses its type.
pub fn texts(array: &dyn Array) -> Option<StringArray> {
    let rows = 0..array.len();
    is_text(array.data_type()).then(|| rows.map(|row| text(array, row)).collect())
}

/// Converts a column of numbers or of text; cells that are not numbers become null. A decimal is rounded to the nearest
/// f64. `None` for other types.
pub fn numbers(array: &dyn Array) -> Option<Float64Array> {
    let parsed = |row| text(array, row).and_then(|text| text.trim().parse().ok());
    let number = |row| match array.data_type() {
        _ if array.is_null(row) => None,
        DataType::Float32 => Some(f64::from(native::<Float32Type>(array, row))),
        DataType::Float64 => Some(native::<Float64Type>(array, row)),
        _ => integer(array, row).map(|number| number as f64).or_else(|| parsed(row)),
    };
    is_number(array.data_type()).then(|| (0..array.len()).map(number).collect())
}

/// Returns whether the cells of a column of this type are numbers, or text that may be a number.
pub(crate) fn is_number(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_number(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        kind => kind.is_numeric(),
    }
}

/// Returns a cell of a column of integers, or of a dictionary of them.
pub(crate) fn integer(array: &dyn Array, row: usize) -> Option<i128> {
    if array.is_null(row) {
        return None;
    }
    downcast_integer_array!(
        array => Some(array.value(row).into()),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = integer(dictionary.keys(), row)?;
            integer(dictionary.values(), usize::try_from(key).ok()?)
        }
        _ => None,
    )
}

fn native<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

/// Returns a date, a time or both as text.
fn moment<T: ArrowTemporalType>(array: &PrimitiveArray<T>, row: usize) -> Option<String>
where
    i64: From<T::Native>,
{
    Some(match array.data_type() {
        DataType::Date32 | DataType::Date64 => array.value_as_date(row)?.to_string(),
        DataType::Timestamp(_, None) => format!("{:?}", array.value_as_datetime(row)?),
        DataType::Timestamp(_, Some(_)) => format!("{:?}Z", array.value_as_datetime(row)?),
        _ => array.value_as_time(row)?.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array,
        Int8Array, NullArray, StringViewArray, Time32SecondArray, TimestampMicrosecondArray,
        TimestampSecondArray, UInt64Array,
    };
    use arrow_schema::TimeUnit;
    use std::sync::Arc;

    fn all(array: &dyn Array) -> Vec<Option<String>> {
        let cell = |row| text(array, row).map(Cow::into_owned);
        (0..array.len()).map(cell).collect()
    }

    #[test]
    fn each_type_has_its_text() {
        let decimals = Decimal128Array::from(vec![-12345, 7]);
        let decimals = decimals.with_precision_and_scale(9, 2).unwrap();
        let zoned = TimestampSecondArray::from(vec![0, 1]).with_timezone("Europe/Berlin");
        let keys: DictionaryArray<Int32Type> = vec!["b", "a", "b"].into_iter().collect();
        let cases: [(ArrayRef, &[&str]); 11] = [
            (Arc::new(Int8Array::from(vec![-3, 0])), &["-3", "0"]),
            (Arc::new(UInt64Array::from(vec![u64::MAX])), &["18446744073709551615"]),
            (Arc::new(Float32Array::from(vec![0.1, 2.0, 1e20])), &["0.1", "2.0", "1e20"]),
            (Arc::new(BooleanArray::from(vec![true, false])), &["true", "false"]),
            (Arc::new(decimals), &["-123.45", "0.07"]),
            (Arc::new(Date32Array::from(vec![0, -1])), &["1970-01-01", "1969-12-31"]),
            (Arc::new(Time32SecondArray::from(vec![3601])), &["01:00:01"]),
            (
                Arc::new(TimestampMicrosecondArray::from(vec![1_500_000])),
                &["1970-01-01T00:00:01.500"],
            ),
            (Arc::new(zoned), &["1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z"]),
            (Arc::new(StringViewArray::from(vec!["x", ""])), &["x", ""]),
            (Arc::new(keys), &["b", "a", "b"]),
        ];
        for (array, expected) in cases {
            assert!(is_text(array.data_type()));
            let expected: Vec<_> = expected.iter().map(|&t| Some(t.to_owned())).collect();
            assert_eq!(all(&array), expected, "{}", array.data_type());
        }
        assert_eq!(all(&NullArray::new(1)), [None]);
        assert_eq!(all(&StringArray::from(vec![None, Some("a")]))[0], None);
        assert!(!is_text(&DataType::Binary) && !is_text(&DataType::Duration(TimeUnit::Second)));
    }

    #[test]
    fn numbers_are_read_whatever_holds_them() {
        let texts = StringArray::from(vec![Some("7"), Some(" 2.5 "), Some("x"), None]);
        let found = numbers(&texts).unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), [Some(7.0), Some(2.5), None, None]);
        let floats = Float64Array::from(vec![3.0, 0.5]);
        assert_eq!(numbers(&floats).unwrap().value(1), 0.5);
        let large = UInt64Array::from(vec![u64::MAX]);
        assert_eq!(numbers(&large).unwrap().value(0), u64::MAX as f64);
        assert!(numbers(&BooleanArray::from(vec![true])).is_none());
    }
}
