//! The declaration of tables: one plain row struct for each, from which its schema and its column builders are derived.
//!
//! Types are limited to those that every reader supports: signed integers, f32 and f64, booleans, days, UTF-8 strings and
//! lists of them (pandas and Spark lack unsigned integers).

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Float32Builder, Float64Builder, Int32Builder, Int64Builder,
    ListBuilder, StringBuilder,
};
use arrow_schema::{DataType, Field, FieldRef, Schema};

use super::check::Check;
use corpus::value_type::{TypedValue, ValueType};

/// Declares the types of columns: docs, variant, name, Arrow type and builder of each.
macro_rules! kinds {
    ($( $(#[$doc:meta])* $kind:ident, $name:literal, $type:expr, $builder:ty, $new:expr; )*) => {
        /// The type of a column.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kind {
            $( $(#[$doc])* $kind, )*
        }

        impl Kind {
            /// Returns the Arrow type that is embedded in the file.
            pub(crate) fn data_type(self) -> DataType {
                match self { $( Self::$kind => $type, )* }
            }

            /// Returns the name used in docs/FORMATS.md and manifest.json.
            pub(crate) fn name(self) -> &'static str {
                match self { $( Self::$kind => $name, )* }
            }

            /// Returns the kind for an Arrow type, if tables use that type.
            pub(crate) fn of(data_type: &DataType) -> Option<Self> {
                [$( Self::$kind ),*].into_iter().find(|kind| kind.data_type() == *data_type)
            }
        }

        /// The values of one column of the current batch.
        pub enum Builder {
            $( $(#[$doc])* $kind($builder), )*
        }

        impl Builder {
            /// Creates an empty builder for values of this kind.
            pub(crate) fn new(kind: Kind) -> Self {
                match kind { $( Kind::$kind => Self::$kind($new), )* }
            }

            /// Returns the column, and empties the builder.
            pub(crate) fn finish(&mut self) -> ArrayRef {
                match self { $( Self::$kind(b) => Arc::new(b.finish()), )* }
            }

            fn append_null(&mut self) {
                match self { $( Self::$kind(b) => b.append_null(), )* }
            }
        }
    };
}

impl Kind {
    /// Returns the kind for values of a type.
    pub(super) fn of_values(value_type: ValueType) -> Self {
        match value_type {
            ValueType::Integer => Self::I64,
            ValueType::Number => Self::F64,
            ValueType::Date => Self::Date,
            ValueType::List => Self::TextList,
            ValueType::Text => Self::Text,
        }
    }
}

impl Builder {
    /// Appends a value of a metadata column, or null if it is not of the column's type; returns the bytes of text.
    pub(super) fn append_value(&mut self, value_type: ValueType, text: Option<&str>) -> usize {
        match (self, text.and_then(|text| value_type.read(text))) {
            (Self::I64(b), Some(TypedValue::Integer(number))) => b.append_value(number),
            (Self::F64(b), Some(TypedValue::Number(number))) => b.append_value(number),
            (Self::Date(b), Some(TypedValue::Date(day))) => b.append_value(day),
            (builder, Some(TypedValue::List(elements))) => return elements.append(builder),
            (Self::Text(b), Some(TypedValue::Text(text))) => {
                b.append_value(text);
                return text.len();
            }
            (builder, _) => builder.append_null(),
        }
        0
    }
}

kinds! {
    /// 32-bit signed integer.
    I32, "i32", DataType::Int32, Int32Builder, Int32Builder::new();
    /// 64-bit signed integer.
    I64, "i64", DataType::Int64, Int64Builder, Int64Builder::new();
    /// 32-bit float.
    F32, "f32", DataType::Float32, Float32Builder, Float32Builder::new();
    /// 64-bit float.
    F64, "f64", DataType::Float64, Float64Builder, Float64Builder::new();
    /// Boolean.
    Bool, "bool", DataType::Boolean, BooleanBuilder, BooleanBuilder::new();
    /// Day, in days since 1970-01-01.
    Date, "date", DataType::Date32, Date32Builder, Date32Builder::new();
    /// UTF-8 string.
    Text, "string", DataType::Utf8, StringBuilder, StringBuilder::new();
    /// List of UTF-8 strings, none of them null.
    TextList, "list<string>", DataType::List(list_element()), ListBuilder<StringBuilder>,
        ListBuilder::new(StringBuilder::new()).with_field(list_element());
}

fn list_element() -> FieldRef {
    Arc::new(Field::new("element", DataType::Utf8, false))
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name in the file.
    pub(crate) name: &'static str,
    /// Its type.
    pub(crate) kind: Kind,
    /// Whether its values may be null.
    pub(crate) nullable: bool,
}

/// The fixed properties of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// Its folder's name.
    pub(crate) name: &'static str,
    /// Its columns, in order.
    pub(crate) columns: &'static [Column],
    /// The columns that its rows are sorted by, ascending, nulls last.
    pub(crate) sorted_by: &'static [&'static str],
    /// The columns that get a bloom filter.
    pub(crate) looked_up_by: &'static [&'static str],
    /// Checks its rows, once all files match the manifest.
    pub(crate) check: Option<Check>,
}

impl TableSpec {
    /// Returns the Arrow schema, followed by nullable columns of these names and types.
    pub(crate) fn schema(&self, extra: &[(String, ValueType)]) -> Schema {
        let own = self.columns.iter().map(|c| Field::new(c.name, c.kind.data_type(), c.nullable));
        let field = |(name, value_type): &(String, ValueType)| {
            Field::new(name, Kind::of_values(*value_type).data_type(), true)
        };
        let extra = extra.iter().map(field);
        Schema::new(own.chain(extra).collect::<Vec<_>>())
    }
}

/// A row of a table; the `table!` macro implements it for each row struct.
pub trait Row {
    /// The table it belongs to.
    const SPEC: TableSpec;
    /// Appends one value to each builder, in the order of the columns; returns the bytes of text.
    fn append(&self, builders: &mut [Builder]) -> usize;
}

/// A value that a row can hold.
pub(crate) trait Cell {
    /// The type of its column.
    const KIND: Kind;
    /// Whether its column may hold nulls.
    const NULLABLE: bool = false;
    /// Appends the value to a builder of [`Self::KIND`]; returns the bytes of text appended.
    fn append(&self, builder: &mut Builder) -> usize;
}

macro_rules! plain_cells {
    ($($type:ty => $kind:ident),*) => {$(
        impl Cell for $type {
            const KIND: Kind = Kind::$kind;
            fn append(&self, builder: &mut Builder) -> usize {
                match builder {
                    Builder::$kind(b) => b.append_value(*self),
                    _ => unreachable!("builders are made from the same declaration as the row"),
                }
                0
            }
        }
    )*};
}

plain_cells!(i32 => I32, i64 => I64, f32 => F32, f64 => F64, bool => Bool);

impl Cell for String {
    const KIND: Kind = Kind::Text;
    fn append(&self, builder: &mut Builder) -> usize {
        match builder {
            Builder::Text(b) => b.append_value(self),
            _ => unreachable!("builders are made from the same declaration as the row"),
        }
        self.len()
    }
}

impl Cell for Vec<String> {
    const KIND: Kind = Kind::TextList;
    fn append(&self, builder: &mut Builder) -> usize {
        match builder {
            Builder::TextList(b) => {
                for text in self {
                    b.values().append_value(text);
                }
                b.append(true);
            }
            _ => unreachable!("builders are made from the same declaration as the row"),
        }
        self.iter().map(String::len).sum()
    }
}

impl<C: Cell> Cell for Option<C> {
    const KIND: Kind = C::KIND;
    const NULLABLE: bool = true;
    fn append(&self, builder: &mut Builder) -> usize {
        match self {
            Some(value) => value.append(builder),
            None => {
                builder.append_null();
                0
            }
        }
    }
}
