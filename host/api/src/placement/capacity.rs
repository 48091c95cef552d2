use std::fmt;
use std::ops::Add;

use serde_json::Value;

use super::quantity::{milli, whole};
use crate::config::ByteSize;

/// An amount of processor time and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Thousandths of a processor.
    pub cpu_milli: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
}

/// What a cluster has left: what its nodes can give less what its pods ask for. What is not known is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// Thousandths of a processor.
    pub cpu_milli: Option<u64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Pods.
    pub pods: Option<u64>,
}

// === impl Resources ===

impl Resources {
    /// `count` times as much, at most the largest number.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        self.map(|amount| amount.saturating_mul(count))
    }

    /// Of each the larger one.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { cpu_milli: self.cpu_milli.max(other.cpu_milli), memory_bytes: self.memory_bytes.max(other.memory_bytes) }
    }

    fn map(self, change: impl Fn(u64) -> u64) -> Self {
        Self { cpu_milli: change(self.cpu_milli), memory_bytes: change(self.memory_bytes) }
    }

    /// Processor time as a quantity: `2`, `1500m`.
    pub fn cpu_text(cpu_milli: u64) -> impl fmt::Display {
        if cpu_milli.is_multiple_of(1000) { (cpu_milli / 1000).to_string() } else { format!("{cpu_milli}m") }
    }

    /// Memory as a quantity: `2Gi`.
    pub fn memory_text(memory_bytes: u64) -> impl fmt::Display {
        ByteSize::new(memory_bytes)
    }
}

impl Add for Resources {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            cpu_milli: self.cpu_milli.saturating_add(other.cpu_milli),
            memory_bytes: self.memory_bytes.saturating_add(other.memory_bytes),
        }
    }
}

// === impl Free ===

impl Free {
    /// What a node has, by its `status.capacity` or `status.allocatable`. What does not stand there, or is no quantity, is not known.
    pub fn of_allocatable(allocatable: &Value) -> Self {
        Self {
            cpu_milli: allocatable.get("cpu").and_then(|cpu| milli("cpu", cpu).ok()),
            memory_bytes: allocatable.get("memory").and_then(|memory| whole("memory", memory).ok()),
            pods: allocatable.get("pods").and_then(|pods| whole("pods", pods).ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_node_does_not_say_is_not_known() {
        let allocatable = json!({"cpu": "3920m", "memory": "16Gi", "ephemeral-storage": "1Gi", "pods": "110"});
        let whole = Free { cpu_milli: Some(3920), memory_bytes: Some(16 << 30), pods: Some(110) };
        assert_eq!(Free::of_allocatable(&allocatable), whole);
        assert_eq!(Free::of_allocatable(&json!({"cpu": "many"})), Free::default());
        assert_eq!(Free::of_allocatable(&json!(null)), Free::default());
    }

    #[test]
    fn amounts_print_as_quantities() {
        let shown = [2000, 1500, 0].map(|milli| format!("{}", Resources::cpu_text(milli)));
        assert_eq!(shown, ["2", "1500m", "0"]);
        assert_eq!(format!("{}", Resources::memory_text(2 << 30)), "2Gi");
    }

    #[test]
    fn amounts_do_not_overflow() {
        let most = Resources { cpu_milli: u64::MAX, memory_bytes: 1 };
        assert_eq!((most + most).cpu_milli, u64::MAX);
        assert_eq!(most.times(3), Resources { cpu_milli: u64::MAX, memory_bytes: 3 });
    }
}
