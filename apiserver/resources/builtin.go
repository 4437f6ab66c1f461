package resources

// Builtin returns the table of the kinds that every apiserver serves. It is made
// anew at each call, from literals only, so that a cluster's start does not wait
// for it.
func Builtin() *Table {
	return NewTable(
		bindingRow(),
		configMapRow(),
		endpointsRow(),
		eventRow(),
		namespaceRow(),
		nodeRow(),
		podRow(),
		secretRow(),
		serviceRow(),
		serviceAccountRow(),

		controllerRevisionRow(),
		deploymentRow(),
		replicaSetRow(),

		eventsEventRow(),
		priorityClassRow(),
		leaseRow(),
		endpointSliceRow(),
	)
}
