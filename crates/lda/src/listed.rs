//! Descriptions that a list holds, and that are known by their names.

/// Makes the descriptions of a list known by their `name`: a setting is read as a name and refers to the description,
/// and two descriptions are equal if they have the same name.
macro_rules! listed {
    ($type:ident in $list:ident) => {
        impl $type {
            /// Returns the one of this name in the list.
            pub fn named(name: &str) -> Option<&'static Self> {
                $list.iter().find(|listed| listed.name == name)
            }
        }

        /// By its name.
        impl<'de> serde::Deserialize<'de> for &'static $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                let unknown = || serde::de::Error::custom(format_args!("`{name}` is not listed"));
                $type::named(&name).ok_or_else(unknown)
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name)
            }
        }

        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.name == other.name
            }
        }

        #[cfg(test)]
        #[test]
        fn all_that_are_listed_have_names_of_their_own() {
            for listed in $list {
                assert!(std::ptr::eq($type::named(listed.name).unwrap(), listed));
            }
        }
    };
}
pub(crate) use listed;
