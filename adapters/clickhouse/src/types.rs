//! ClickHouse's type names, read into what matters for decoding and cutting.

/// How a value of a type is written and read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    Integer,
    Float,
    /// With the digits behind its point.
    Decimal(usize),
    Boolean,
    /// `DateTime` and `DateTime64`, with their zone where they name one.
    Moment(Option<String>),
    /// An interval, with the designators of ISO 8601 around its number, and what it is multiplied by.
    Interval(Unit),
    /// Text or bytes: `String` and `FixedString`.
    Bytes,
    /// The state of an aggregate function.
    State,
    List(Box<Type>),
    Tuple(Vec<(Option<String>, Type)>),
    Map(Box<Type>),
    /// A document.
    Json,
    /// A value whose type comes with it.
    Any,
    /// Everything that has a canonical text.
    Text,
}

/// The unit of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Whole {
        prefix: &'static str,
        factor: i64,
        designator: char,
    },
    /// Seconds with so many digits behind the point.
    Fraction(usize),
}

/// How a column of a type is kept from travelling whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// Short by nature.
    Fixed,
    /// Measured by its length, cut as bytes.
    Bytes,
    /// Measured and cut as the hexadecimal digits it is asked as.
    Hex,
    /// Measured and cut as its JSON text.
    Json,
}

impl Type {
    /// Reads a type's name. A name that is not known is a type with a canonical text.
    pub(crate) fn parse(name: &str) -> Self {
        parse(name, 0)
    }

    pub(crate) fn width(&self) -> Width {
        match self {
            Self::Bytes => Width::Bytes,
            Self::State => Width::Hex,
            Self::List(_) | Self::Tuple(_) | Self::Map(_) | Self::Json | Self::Any => Width::Json,
            _ => Width::Fixed,
        }
    }
}

/// Types nest no deeper than this.
const DEEPEST: usize = 64;

fn parse(name: &str, depth: usize) -> Type {
    let name = name.trim();
    if depth > DEEPEST {
        return Type::Any;
    }
    let (head, arguments) = match name.split_once('(') {
        Some((head, rest)) => (head, rest.strip_suffix(')').unwrap_or(rest)),
        None => (name, ""),
    };
    let deeper = |text: &str| parse(text, depth + 1);
    match head {
        "Nullable" | "LowCardinality" => deeper(arguments),
        "SimpleAggregateFunction" => {
            let parts = split(arguments);
            parts.last().map_or(Type::Text, |last| deeper(last))
        }
        "AggregateFunction" => Type::State,
        "Array" => Type::List(Box::new(deeper(arguments))),
        "QBit" => {
            let parts = split(arguments);
            Type::List(Box::new(
                parts.first().map_or(Type::Any, |first| deeper(first)),
            ))
        }
        "Nested" => Type::List(Box::new(Type::Tuple(parts(arguments, depth)))),
        "Tuple" => Type::Tuple(parts(arguments, depth)),
        "Map" => {
            let parts = split(arguments);
            Type::Map(Box::new(
                parts.last().map_or(Type::Any, |last| deeper(last)),
            ))
        }
        "JSON" | "Object" => Type::Json,
        "Variant" | "Dynamic" | "Geometry" => Type::Any,
        "Point" => Type::Tuple(vec![(None, Type::Float), (None, Type::Float)]),
        "Ring" | "LineString" => list(1),
        "Polygon" | "MultiLineString" => list(2),
        "MultiPolygon" => list(3),
        "Bool" => Type::Boolean,
        "Float32" | "Float64" | "BFloat16" => Type::Float,
        "String" | "FixedString" => Type::Bytes,
        "DateTime" => Type::Moment(zone(arguments)),
        "DateTime64" => Type::Moment(split(arguments).get(1).and_then(|text| zone(text))),
        "Decimal" => {
            let parts = split(arguments);
            let scale = parts.get(1).and_then(|text| text.trim().parse().ok());
            Type::Decimal(scale.unwrap_or(0))
        }
        _ if head.starts_with("Interval") => interval(head).map_or(Type::Text, Type::Interval),
        _ if (head.starts_with("Int") || head.starts_with("UInt"))
            && head.ends_with(|c: char| c.is_ascii_digit()) =>
        {
            Type::Integer
        }
        _ => Type::Text,
    }
}

fn list(levels: usize) -> Type {
    let point = Type::Tuple(vec![(None, Type::Float), (None, Type::Float)]);
    (0..levels).fold(point, |inner, _| Type::List(Box::new(inner)))
}

fn zone(text: &str) -> Option<String> {
    Some(text.trim().trim_matches('\'').to_owned()).filter(|zone| !zone.is_empty())
}

fn interval(head: &str) -> Option<Unit> {
    let whole = |prefix, factor, designator| Unit::Whole {
        prefix,
        factor,
        designator,
    };
    Some(match head.strip_prefix("Interval")? {
        "Nanosecond" => Unit::Fraction(9),
        "Microsecond" => Unit::Fraction(6),
        "Millisecond" => Unit::Fraction(3),
        "Second" => whole("PT", 1, 'S'),
        "Minute" => whole("PT", 1, 'M'),
        "Hour" => whole("PT", 1, 'H'),
        "Day" => whole("P", 1, 'D'),
        "Week" => whole("P", 1, 'W'),
        "Month" => whole("P", 1, 'M'),
        "Quarter" => whole("P", 3, 'M'),
        "Year" => whole("P", 1, 'Y'),
        _ => return None,
    })
}

/// The parts of a tuple, with their names where they have some.
fn parts(arguments: &str, depth: usize) -> Vec<(Option<String>, Type)> {
    split(arguments)
        .into_iter()
        .map(|part| {
            let (name, type_name) = named(part.trim());
            (name, parse(type_name, depth + 1))
        })
        .collect()
}

/// `name Type` or `Type`: a type's name has no blank before its arguments.
fn named(part: &str) -> (Option<String>, &str) {
    if part.starts_with('`') {
        let mut escaped = false;
        for (index, character) in part.char_indices().skip(1) {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '`' => {
                    let name = part.get(1..index).unwrap_or_default().replace("\\`", "`");
                    return (
                        Some(name.replace("\\\\", "\\")),
                        part.get(index + 1..).unwrap_or_default(),
                    );
                }
                _ => {}
            }
        }
    }
    let head = part.split('(').next().unwrap_or(part);
    match head.split_once(char::is_whitespace) {
        Some((name, rest)) if !rest.trim().is_empty() => (
            Some(name.to_owned()),
            part.get(name.len()..).unwrap_or(part),
        ),
        _ => (None, part),
    }
}

/// Arguments at the top level, by their commas.
fn split(arguments: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut quote, mut escaped) = (0_usize, 0, None, false);
    for (index, character) in arguments.char_indices() {
        match (quote, character) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '`' | '"') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.extend(arguments.get(start..index));
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.extend(
        arguments
            .get(start..)
            .filter(|last| !last.trim().is_empty()),
    );
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_with_their_arguments() {
        for (name, expected) in [
            ("UInt256", Type::Integer),
            ("LowCardinality(Nullable(String))", Type::Bytes),
            ("Enum8('a,(' = 1, 'b\\'' = 2)", Type::Text),
            ("Decimal(76, 30)", Type::Decimal(30)),
            (
                "DateTime64(3, 'Asia/Tokyo')",
                Type::Moment(Some("Asia/Tokyo".to_owned())),
            ),
            ("DateTime", Type::Moment(None)),
            ("SimpleAggregateFunction(sum, UInt64)", Type::Integer),
            ("AggregateFunction(sum, UInt8)", Type::State),
            (
                "Map(String, Array(Float32))",
                Type::Map(Box::new(Type::List(Box::new(Type::Float)))),
            ),
            (
                "Tuple(\n    a UInt8,\n    `b (c` String)",
                Type::Tuple(vec![
                    (Some("a".to_owned()), Type::Integer),
                    (Some("b (c".to_owned()), Type::Bytes),
                ]),
            ),
            (
                "Tuple(UInt8, Decimal(9, 2))",
                Type::Tuple(vec![(None, Type::Integer), (None, Type::Decimal(2))]),
            ),
            ("Tuple()", Type::Tuple(vec![])),
            ("Dynamic(max_types=3)", Type::Any),
            ("IPv6", Type::Text),
            ("Int", Type::Text),
        ] {
            assert_eq!(Type::parse(name), expected, "{name}");
        }
    }
}
