package fault

import (
	"context"
	"time"

	"minikcm.dev/minikcm"
)

// The actions of etcd.
const (
	EtcdSlow        = "slow"
	EtcdUnavailable = "unavailable"
	EtcdNoSpace     = "noSpace"
	EtcdLeaderLoss  = "leaderLoss"
)

// Etcd is a fault of the API server's store.
type Etcd struct {
	// Action is slow, unavailable, noSpace (writes that add something fail) or leaderLoss
	// (requests fail, some writes are made all the same).
	Action string `yaml:"action"`
	// Delay is how slow it is, or how long requests take that time out for want of a
	// leader.
	Delay Duration `yaml:"delay"`
	// Operations are reads and writes; default both, for slow and unavailable. Prefix is
	// of the keys, such as /registry/pods/; default all.
	Operations []string `yaml:"operations"`
	Prefix     string   `yaml:"prefix"`
	// Percent is to how many operations it happens; default 100.
	Percent int `yaml:"percent"`
}

func (e *Etcd) check(c *checker) {
	c.action(e.Action, []string{EtcdSlow, EtcdUnavailable, EtcdNoSpace, EtcdLeaderLoss})
	c.only("delay", e.Delay != 0, e.Action, EtcdSlow, EtcdLeaderLoss)
	c.only("operations", len(e.Operations) > 0, e.Action, EtcdSlow, EtcdUnavailable)
	if e.Action == EtcdSlow {
		c.positive("delay", e.Delay)
	}
	for _, operation := range e.Operations {
		if operation != "reads" && operation != "writes" {
			c.problem("operations", "%q is neither reads nor writes", operation)
		}
	}
	if e.Percent < 0 || e.Percent > 100 {
		c.problem("percent", "is from 1 to 100: %d", e.Percent)
	}
}

func (e *Etcd) title() string {
	return map[string]string{
		EtcdSlow: "slow down etcd by " + e.Delay.String(), EtcdUnavailable: "take etcd away", EtcdNoSpace: "fill etcd", EtcdLeaderLoss: "take etcd's leader away",
	}[e.Action]
}

func (e *Etcd) lasts() bool   { return true }
func (e *Etcd) outside() bool { return false }
func (e *Etcd) needs() Needs  { return Needs{Store: true} }

func (e *Etcd) fault() minikcm.StoreFault {
	var f minikcm.StoreFault
	// Watches stay: if they broke, virtual time would stand still until they are back.
	const open = minikcm.StoreReads | minikcm.StoreWrites | minikcm.StoreCompactions
	switch e.Action {
	case EtcdSlow:
		f = minikcm.SlowStore(time.Duration(e.Delay))
		f.Operations = minikcm.StoreReads | minikcm.StoreWrites
	case EtcdUnavailable:
		f = minikcm.StoreUnavailable()
		f.Operations = open
	case EtcdNoSpace:
		f = minikcm.StoreNoSpace()
	case EtcdLeaderLoss:
		f = minikcm.StoreLeaderLoss(time.Duration(e.Delay))
		f.Operations, f.EndWatches = open, false
	}
	if len(e.Operations) > 0 {
		f.Operations = 0
		for _, operation := range e.Operations {
			if operation == "reads" {
				f.Operations |= minikcm.StoreReads
			} else {
				f.Operations |= minikcm.StoreWrites
			}
		}
	}
	f.Requests, f.Prefix, f.Share = true, e.Prefix, float64(e.Percent)/100
	return f
}

func (e *Etcd) inject(_ context.Context, env *Env) (injected, error) {
	store := env.Cluster.StoreFaults()
	remove := store.Inject(e.fault())
	env.note("%s", e.title())
	return func(context.Context) error { remove(); return nil }, nil
}
