//! What every type of our own has to be for the evaluator: a value that is compared, copied and recognised.

/// Makes a type, which can be cloned and compared, a value of the CEL type `TYPE` of its module.
macro_rules! value {
    ($name:ident) => {
        impl cel::common::value::Val for $name {
            fn get_type(&self) -> &cel::common::types::Type {
                &TYPE
            }

            fn cel_type() -> &'static cel::common::types::Type {
                &TYPE
            }

            fn equals(&self, other: &dyn cel::common::value::Val) -> bool {
                other.downcast_ref::<Self>() == Some(self)
            }

            fn clone_as_boxed<'v>(&self) -> Box<dyn cel::common::value::Val + 'v>
            where
                Self: 'v,
            {
                Box::new(self.clone())
            }

            fn as_any(&self) -> Option<&dyn std::any::Any> {
                Some(self)
            }
        }

        impl cel::common::value::StaticVal for $name {}
    };
}

pub(super) use value;
