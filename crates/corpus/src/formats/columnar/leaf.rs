//! The columns of a file and the fields within them: `a.b` is the field `b` of the structure `a`, or of each structure
//! in the list `a`.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch, StructArray, make_array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use std::sync::Arc;

/// A column, or a field within one.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) name: String,
    /// The type of its cells; a list for a field of structures in a list.
    pub(crate) kind: DataType,
    /// The column's index in the schema.
    root: usize,
    /// The indices of the fields that lead to it.
    path: Vec<usize>,
}

impl Leaf {
    /// Returns every column, then every field within one.
    pub(crate) fn all(schema: &Schema) -> Vec<Self> {
        let column = |(root, field): (usize, &FieldRef)| Self {
            name: field.name().clone(),
            kind: field.data_type().clone(),
            root,
            path: Vec::new(),
        };
        let mut leaves: Vec<Self> = schema.fields().iter().enumerate().map(column).collect();
        let mut next = 0;
        while let Some(outer) = leaves.get(next) {
            let within = outer.fields();
            leaves.extend(within);
            next += 1;
        }
        leaves
    }

    /// Returns the fields of the structures that it holds.
    fn fields(&self) -> Vec<Self> {
        let (held, kind_of): (_, fn(FieldRef) -> DataType) = match &self.kind {
            DataType::List(item) => (item.data_type(), DataType::List),
            DataType::LargeList(item) => (item.data_type(), DataType::LargeList),
            kind => (kind, |item| item.data_type().clone()),
        };
        let DataType::Struct(fields) = held else {
            return Vec::new();
        };
        let field = |(place, field): (usize, &FieldRef)| Self {
            name: format!("{}.{}", self.name, field.name()),
            kind: kind_of(item_of(field.data_type())),
            root: self.root,
            path: [&self.path[..], &[place]].concat(),
        };
        fields.iter().enumerate().map(field).collect()
    }

    /// Returns its cells, given those of its column.
    fn cells(&self, column: &ArrayRef) -> ArrayRef {
        let step = |outer: ArrayRef, &place: &usize| match outer.data_type() {
            DataType::List(_) => in_list::<i32>(outer.as_list(), place),
            DataType::LargeList(_) => in_list::<i64>(outer.as_list(), place),
            _ => field(outer.as_struct(), place),
        };
        self.path.iter().fold(Arc::clone(column), step)
    }
}

/// Some leaves, and the columns that they are read from.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) leaves: Vec<Leaf>,
    /// The columns' indices in the schema, ascending.
    pub(crate) roots: Vec<usize>,
}

impl Selection {
    pub(crate) fn new(leaves: Vec<Leaf>) -> Self {
        let mut roots: Vec<usize> = leaves.iter().map(|leaf| leaf.root).collect();
        roots.sort_unstable();
        roots.dedup();
        Self { leaves, roots }
    }

    /// Returns the cells of each leaf in a batch of the columns.
    pub(crate) fn cells(&self, batch: &RecordBatch) -> Vec<ArrayRef> {
        let cells = |leaf: &Leaf| {
            let place = self.roots.partition_point(|&root| root < leaf.root);
            leaf.cells(batch.column(place))
        };
        self.leaves.iter().map(cells).collect()
    }
}

/// Returns the field of a list's items, which may be null.
fn item_of(kind: &DataType) -> FieldRef {
    Arc::new(Field::new_list_field(kind.clone(), true))
}

/// Returns the cells of a field; null where the structure is.
fn field(outer: &StructArray, place: usize) -> ArrayRef {
    let inner = outer.column(place);
    if outer.null_count() == 0 {
        return Arc::clone(inner);
    }
    let nulls = NullBuffer::union(outer.nulls(), inner.nulls());
    let masked = inner.to_data().into_builder().nulls(nulls).build();
    // A column of only nulls needs no mask, and accepts none.
    masked.map_or_else(|_| Arc::clone(inner), make_array)
}

/// Returns the lists of one field's values, for lists of structures.
fn in_list<O: OffsetSizeTrait>(outer: &GenericListArray<O>, place: usize) -> ArrayRef {
    let inner = field(outer.values().as_struct(), place);
    let (item, offsets) = (item_of(inner.data_type()), outer.offsets().clone());
    let nulls = outer.nulls().cloned();
    Arc::new(GenericListArray::new(item, offsets, inner, nulls))
}
