//! The text forms of arrays and composites, taken apart
//! (PostgreSQL documentation, 8.15.6 "Array Input and Output Syntax" and 8.16.6 "Composite Type
//! Input and Output Syntax").

/// One place of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Element {
    Null,
    Text(String),
    Nested(Vec<Element>),
}

/// The elements of `{…}`. `None` where the text is no array.
pub(crate) fn array_elements(text: &str, delimiter: char) -> Option<Vec<Element>> {
    // One frame for each open brace.
    let mut open: Vec<Vec<Element>> = Vec::new();
    let mut characters = text.chars().peekable();
    let mut expects_element = true;
    loop {
        match characters.next()? {
            '{' if expects_element => open.push(Vec::new()),
            '}' => {
                let closed = open.pop()?;
                match open.last_mut() {
                    None => return characters.next().is_none().then_some(closed),
                    Some(outer) => outer.push(Element::Nested(closed)),
                }
                expects_element = false;
            }
            character if character == delimiter => expects_element = true,
            '"' if expects_element => {
                let mut element = String::new();
                loop {
                    match characters.next()? {
                        '"' => break,
                        '\\' => element.push(characters.next()?),
                        character => element.push(character),
                    }
                }
                open.last_mut()?.push(Element::Text(element));
                expects_element = false;
            }
            first if expects_element => {
                let mut element = String::new();
                let mut next = Some(first);
                while let Some(character) = next {
                    if character == '\\' {
                        element.push(characters.next()?);
                    } else {
                        element.push(character);
                    }
                    next = characters.next_if(|&c| c != delimiter && c != '}');
                }
                let is_null = element.eq_ignore_ascii_case("null");
                open.last_mut()?.push(if is_null {
                    Element::Null
                } else {
                    Element::Text(element)
                });
                expects_element = false;
            }
            _ => return None,
        }
    }
}

/// The fields of `(…)`, null where nothing stands. `None` where the text is no composite.
pub(crate) fn composite_fields(text: &str) -> Option<Vec<Option<String>>> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let mut fields = Vec::new();
    let mut field: Option<String> = None;
    let mut characters = inner.chars().peekable();
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => {
                field.get_or_insert_default().push('"');
            }
            '"' => {
                quoted = !quoted;
                field.get_or_insert_default();
            }
            '\\' => field.get_or_insert_default().push(characters.next()?),
            ',' if !quoted => fields.push(field.take()),
            other => field.get_or_insert_default().push(other),
        }
    }
    fields.push(field);
    (!quoted).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_keep_quotes_nulls_and_nesting_apart() {
        let text = |text: &str| Element::Text(text.to_owned());
        assert_eq!(array_elements("{}", ','), Some(vec![]));
        assert_eq!(
            array_elements(r#"{1,NULL,"NULL","a\"b\\c","{x}"}"#, ','),
            Some(vec![
                text("1"),
                Element::Null,
                text("NULL"),
                text(r#"a"b\c"#),
                text("{x}")
            ])
        );
        assert_eq!(
            array_elements("{{a},{b}}", ','),
            Some(vec![
                Element::Nested(vec![text("a")]),
                Element::Nested(vec![text("b")])
            ])
        );
        assert_eq!(
            array_elements("{(1,1),(0,0);(2,2),(1,1)}", ';'),
            Some(vec![text("(1,1),(0,0)"), text("(2,2),(1,1)")])
        );
        for broken in ["", "{", "{1", "1}", "{1}}", "{\"a}"] {
            assert_eq!(array_elements(broken, ','), None, "{broken}");
        }
    }

    #[test]
    fn composites_tell_null_from_empty() {
        assert_eq!(
            composite_fields(r#"(1,,"","a ""b""\\",(x)"#.to_owned().as_str()),
            Some(vec![
                Some("1".to_owned()),
                None,
                Some(String::new()),
                Some(r#"a "b"\"#.to_owned()),
                Some("(x".to_owned()),
            ])
        );
        assert_eq!(composite_fields("(\"a)"), None);
    }
}
