package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm"
)

// The actions of controllers.
const (
	ControllerCrash      = "crash"
	ControllerPause      = "pause"
	ControllerSlow       = "slow"
	ControllerDuplicate  = "duplicate"
	ControllerLoseEvents = "loseEvents"
)

// controllerActions lists the actions on controllers.
var controllerActions = []Action{
	{Name: ControllerCrash, Does: "end controllers; they are made again after a second, or when the fault is over", Lasts: LastingIfFor},
	{Name: ControllerPause, Does: "let the keys in the queues wait", Lasts: LastingAlways},
	{Name: ControllerSlow, Does: "let each reconcile take longer", Lasts: LastingAlways, Fields: []string{"delay"}},
	{Name: ControllerDuplicate, Does: "let a second one work beside the first", Lasts: LastingAlways},
	{Name: ControllerLoseEvents, Does: "let controllers not see events until the object changes again", Lasts: LastingAlways, Fields: []string{"lost"}},
}

// Controllers is a fault of the cluster's controllers.
type Controllers struct {
	// Action is crash (and made again after a second, or after for), pause (keys wait),
	// slow (each reconcile takes longer), duplicate (a second one works beside the first)
	// or loseEvents.
	Action string `yaml:"action,omitempty"`
	// Names are controllers' names as in --controllers, such as deployment-controller; default all
	// that run.
	Names []string `yaml:"names,omitempty"`
	Share `yaml:",inline"`
	// Delay is added to the duration of each reconcile.
	Delay Duration `yaml:"delay,omitempty"`
	// Lost is the percentage of events that are lost; default 100.
	Lost int `yaml:"lost,omitempty"`

	stays bool // away for as long as the fault lasts
}

func (k *Controllers) check(c *checker) {
	c.row(k, k.Action)
	known := minikcm.ControllerNames()
	for i, name := range k.Names {
		if !slices.Contains(known, name) {
			c.problem(fmt.Sprintf("names[%d]", i), "%q is not a controller; the controllers are %s", name, strings.Join(known, ", "))
		}
	}
	if k.Share == (Share{}) {
		k.All = len(k.Names) > 0
	}
	k.Share.check(c)
	if k.Action == ControllerSlow {
		c.positive("delay", k.Delay)
	}
	if k.Lost < 0 || k.Lost > 100 {
		c.problem("lost", "is from 1 to 100: %d", k.Lost)
	}
	k.stays = c.fault.For > 0
}

func (k *Controllers) which() string {
	if len(k.Names) > 0 {
		return strings.Join(k.Names, ", ")
	}
	return "the controllers"
}

func (k *Controllers) title() string {
	verb := map[string]string{
		ControllerCrash: "crash", ControllerPause: "pause", ControllerSlow: "slow down", ControllerDuplicate: "duplicate", ControllerLoseEvents: "lose events of",
	}[k.Action]
	if len(k.Names) > 0 && k.All {
		return verb + " " + k.which()
	}
	return fmt.Sprintf("%s %s of %s", verb, &k.Share, k.which())
}

func (k *Controllers) action() (Action, bool) { return find(controllerActions, k.Action) }
func (k *Controllers) needs() Needs           { return Needs{} }

func (k *Controllers) inject(_ context.Context, env *Env) (injected, error) {
	m := env.Cluster.Manager()
	candidates := slices.DeleteFunc(m.Members(), func(name string) bool {
		if len(k.Names) > 0 {
			return !slices.Contains(k.Names, name)
		}
		return k.Action != ControllerCrash && m.Idles(name) // it has no queue to be broken
	})
	names, err := pick(candidates, &k.Share, env.Random, k.which(), func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	var undo []injected
	for _, name := range names {
		end, err := k.hit(m, env, name)
		if end != nil {
			undo = append(undo, func(context.Context) error { end(); return nil })
		}
		if err != nil {
			return all(undo), err
		}
		env.note("%s %s", k.Action, name)
	}
	return all(undo), nil
}

func (k *Controllers) hit(m *minikcm.Manager, env *Env, name string) (end func(), err error) {
	switch k.Action {
	case ControllerCrash:
		if k.stays {
			return m.TakeDown(name)
		}
		return nil, m.Crash(name)
	case ControllerPause:
		return m.Pause(name)
	case ControllerSlow:
		return k.hold(env, "pace of "+name, func() (func(), error) { return m.Slow(name, time.Duration(k.Delay)) })
	case ControllerDuplicate:
		return m.Duplicate(name)
	case ControllerLoseEvents:
		share := float64(k.Lost) / 100
		if share == 0 {
			share = 1
		}
		random := env.Random.Fork()
		return k.hold(env, "events of "+name, func() (func(), error) { return m.Lose(name, share, random) })
	}
	return nil, nil
}

// hold breaks a controller until the last fault that breaks it so is over.
func (*Controllers) hold(env *Env, key string, breaks func() (end func(), err error)) (end func(), err error) {
	var last func()
	undo, err := env.Holds.hold(key, func() (err error) {
		last, err = breaks()
		return err
	}, func() error {
		last()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = undo(context.Background()) }, nil // nothing in it fails or waits
}
