package validation

// The priorities of the system's own pods. Users' classes must not exceed
// HighestUserPriority.
const (
	HighestUserPriority        int32 = 1_000_000_000
	SystemClusterCritical            = "system-cluster-critical"
	SystemClusterCriticalValue       = 2 * HighestUserPriority
	SystemNodeCritical               = "system-node-critical"
	SystemNodeCriticalValue          = SystemClusterCriticalValue + 1000
)
