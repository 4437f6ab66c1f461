package minikcmtest

// Reconcile is the end of one call of a reconciler.
type Reconcile struct {
	// Controller is the controller's name, and Request what it reconciled, such as default/home.
	Controller, Request string
	// Err is the error that it returned; nil if it did not, or panicked.
	Err error
	// Panic is the value with which it panicked; nil if it did not.
	Panic any
}

// ObserveReconciles calls f at the end of each call of a reconciler of ctrltest's managers on this cluster. f is called from
// goroutines of controllers, and must not wait. It must not be set while a manager runs.
func (c *Cluster) ObserveReconciles(f func(Reconcile)) { c.reconciles = f }

// Reconciled reports the end of a call of a reconciler to the observer of ObserveReconciles. ctrltest calls it.
func (c *Cluster) Reconciled(r Reconcile) {
	if c.reconciles != nil {
		c.reconciles(r)
	}
}
