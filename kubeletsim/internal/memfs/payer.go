package memfs

// nodeBytes is the memory of a file or directory besides its content and its name.
const nodeBytes = 512

// Payer is the memory that pays for the files that a view creates and lets grow.
type Payer struct {
	// Reserve takes bytes. Its error fails the change of the file.
	Reserve func(n int64) error
	// Release gives bytes back, also when the view is not used any more.
	Release func(n int64)
}

// Charge returns the same view, except that payer pays for data that is written through it. A file is
// paid by the view through which it has grown last, until it is removed.
func (v *View) Charge(payer *Payer) *View {
	c := *v
	c.payer = payer
	return &c
}

// charge makes payer pay n bytes for the node, instead of its previous payer.
func (n *node) charge(payer *Payer, bytes int64) error {
	if payer == nil {
		return nil
	}
	if n.payer == payer {
		if more := bytes - n.charged; more > 0 {
			if err := payer.Reserve(more); err != nil {
				return err
			}
		} else {
			payer.Release(-more)
		}
		n.charged = bytes
		return nil
	}
	if err := payer.Reserve(bytes); err != nil {
		return err
	}
	n.settle()
	n.payer, n.charged = payer, bytes
	return nil
}

// settle ends the payment for the node.
func (n *node) settle() {
	if n.payer != nil {
		n.payer.Release(n.charged)
		n.payer, n.charged = nil, 0
	}
}

// release ends the payment for the node and all beneath it.
func (n *node) release() {
	n.settle()
	for _, child := range n.children {
		child.release()
	}
}
