package fault

import (
	"fmt"
	"strings"
	"time"
)

// Fault is one fault. Exactly one of Pods, Nodes, Network, DNS, HTTP, APIServer, Etcd, Webhooks, Controllers
// and Clock is set and says what is broken; the other fields say when and for how long.
type Fault struct {
	Pods        *Pods        `yaml:"pods,omitempty"`
	Nodes       *Nodes       `yaml:"nodes,omitempty"`
	Network     *Network     `yaml:"network,omitempty"`
	DNS         *DNS         `yaml:"dns,omitempty"`
	HTTP        *HTTP        `yaml:"http,omitempty"`
	APIServer   *APIServer   `yaml:"apiserver,omitempty"`
	Etcd        *Etcd        `yaml:"etcd,omitempty"`
	Webhooks    *Webhooks    `yaml:"webhooks,omitempty"`
	Controllers *Controllers `yaml:"controllers,omitempty"`
	Clock       *Clock       `yaml:"clock,omitempty"`

	// For is the duration of each occurrence. Without it, a fault that lasts ends with the
	// scenario, or when it is stopped.
	For Duration `yaml:"for,omitempty"`
	// Every is the time between the beginnings of consecutive occurrences.
	Every Duration `yaml:"every,omitempty"`
	// Jitter is the largest difference of an occurrence from its time, as a percentage of
	// Every.
	Jitter int `yaml:"jitter,omitempty"`
	// Schedule is a cron schedule of the occurrences in UTC, in place of Every.
	Schedule string `yaml:"schedule,omitempty"`
	// Times is the largest number of occurrences.
	Times int `yaml:"times,omitempty"`
	// During is the time after which no occurrence begins. Without it and Times, the last one
	// is at the end of the scenario, or when the fault is stopped.
	During Duration `yaml:"during,omitempty"`
	// Within is the longest time that the fault may take, such as a drain until the nodes are drained;
	// default: no limit.
	Within Duration `yaml:"within,omitempty"`

	// Line is the line where it is written.
	Line int `yaml:"-"`
}

// kind is the part of a fault with its target and action.
type kind interface {
	// check reports what is wrong with how it is written, and fills in defaults.
	check(c *checker)
	title() string
	// action returns the row of its action; false if there is no such action.
	action() (Action, bool)
	// needs are the hooks that it needs in a cluster.
	needs() Needs
}

// part is one of a Fault's kinds with its name in YAML.
type part struct {
	name string
	kind kind
}

func (f *Fault) parts() []part {
	var set []part
	add := func(name string, is bool, k kind) {
		if is {
			set = append(set, part{name, k})
		}
	}
	add("pods", f.Pods != nil, f.Pods)
	add("nodes", f.Nodes != nil, f.Nodes)
	add("network", f.Network != nil, f.Network)
	add("dns", f.DNS != nil, f.DNS)
	add("http", f.HTTP != nil, f.HTTP)
	add("apiserver", f.APIServer != nil, f.APIServer)
	add("etcd", f.Etcd != nil, f.Etcd)
	add("webhooks", f.Webhooks != nil, f.Webhooks)
	add("controllers", f.Controllers != nil, f.Controllers)
	add("clock", f.Clock != nil, f.Clock)
	return set
}

func (f *Fault) kind() kind { return f.parts()[0].kind }

// In returns the fault with a namespace in place of default where it names pods; an
// empty one changes nothing.
func (f *Fault) In(namespace string) *Fault {
	if namespace == "" {
		return f
	}
	moved := *f
	switch {
	case f.Pods != nil:
		moved.Pods = f.Pods.within(namespace)
	case f.Network != nil:
		network := *f.Network
		network.Between = network.Between.within(namespace)
		moved.Network = &network
	case f.DNS != nil:
		d := *f.DNS
		d.Namespace = d.between().within(namespace).Namespace
		moved.DNS = &d
	case f.HTTP != nil:
		h := *f.HTTP
		h.Between = h.Between.within(namespace)
		moved.HTTP = &h
	}
	return &moved
}

// Lasts reports whether each injection lasts, so that it has to be taken back.
func (f *Fault) Lasts() bool {
	row, _ := f.kind().action()
	return row.Lasts == LastingAlways || row.Lasts == LastingIfFor && f.For > 0
}

// Repeats reports whether the fault is injected more than once.
func (f *Fault) Repeats() bool { return f.Every > 0 || f.Schedule != "" }

// Endless reports whether Run returns only when its context ends, so that the fault needs a
// step in the background.
func (f *Fault) Endless() bool { return f.Repeats() && f.Times == 0 && f.During == 0 }

// Title says in a few words what the fault does.
func (f *Fault) Title() string {
	parts := f.parts()
	if len(parts) != 1 {
		return "fault"
	}
	text := parts[0].kind.title()
	if f.For > 0 {
		text += fmt.Sprintf(" for %v", time.Duration(f.For))
	}
	if f.Every > 0 {
		text += fmt.Sprintf(" every %v", time.Duration(f.Every))
	}
	if f.Schedule != "" {
		text += " at " + f.Schedule
	}
	switch {
	case f.Times > 0 && f.Repeats():
		text += fmt.Sprintf(", %d times", f.Times)
	case f.During > 0:
		text += fmt.Sprintf(", during %v", time.Duration(f.During))
	}
	return strings.TrimSpace(text)
}
