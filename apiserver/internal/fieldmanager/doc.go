// Package fieldmanager tracks which manager owns which fields of an object (KEP-555), for
// every write, and merges server-side applies. Entries get the cluster's time.
package fieldmanager
