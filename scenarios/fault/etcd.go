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

// etcdActions lists the actions on the API server's store.
var etcdActions = []Action{
	{Name: EtcdSlow, Does: "let operations take longer", Lasts: LastingAlways, Fields: []string{"delay", "operations"}},
	{Name: EtcdUnavailable, Does: "let operations fail", Lasts: LastingAlways, Fields: []string{"operations"}},
	{Name: EtcdNoSpace, Does: "let writes fail that add something", Lasts: LastingAlways},
	{Name: EtcdLeaderLoss, Does: "let operations fail for want of a leader; some writes are made all the same", Lasts: LastingAlways, Fields: []string{"delay"}},
}

// Etcd is a fault of the API server's store.
type Etcd struct {
	// Action is slow, unavailable, noSpace (writes that add something fail) or leaderLoss
	// (requests fail, some writes are made all the same).
	Action string `yaml:"action,omitempty"`
	// Delay is added to the duration of operations, or is the time until they fail for want of a
	// leader.
	Delay Duration `yaml:"delay,omitempty"`
	// Operations are reads, writes or both; default both.
	Operations []string `yaml:"operations,omitempty"`
	// Prefix is the beginning of the keys, such as /registry/pods/; default all.
	Prefix string `yaml:"prefix,omitempty"`
	// Percent is the percentage of these operations that are affected; default 100.
	Percent int `yaml:"percent,omitempty"`
}

func (e *Etcd) check(c *checker) {
	c.row(e, e.Action)
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
	}[e.Action] + shareOf(e.Percent)
}

func (e *Etcd) action() (Action, bool) { return find(etcdActions, e.Action) }
func (e *Etcd) needs() Needs           { return Needs{Store: true} }

func (e *Etcd) fault() minikcm.StoreFault {
	var f minikcm.StoreFault
	// Watches stay open: broken ones would stop virtual time until they are open again.
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
