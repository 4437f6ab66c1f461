package fault

import (
	"fmt"
	"strings"
	"time"
)

// Fault is one fault: exactly one of Pods, Nodes, APIServer, Etcd, Controllers and
// Clock says what is broken, the others when and for how long.
type Fault struct {
	Pods        *Pods        `yaml:"pods"`
	Nodes       *Nodes       `yaml:"nodes"`
	APIServer   *APIServer   `yaml:"apiserver"`
	Etcd        *Etcd        `yaml:"etcd"`
	Controllers *Controllers `yaml:"controllers"`
	Clock       *Clock       `yaml:"clock"`

	// For is how long it lasts each time. A fault that lasts and says nothing goes on
	// to the end of the scenario.
	For Duration `yaml:"for"`
	// Every is how far the beginnings of two times are apart, and Jitter by how much of
	// that, in percent, each is earlier or later.
	Every  Duration `yaml:"every"`
	Jitter int      `yaml:"jitter"`
	// Schedule is when it happens, as cron writes it, in UTC, in place of Every.
	Schedule string `yaml:"schedule"`
	// Times is how often it happens at most, and During how long it goes on to happen;
	// without both, until the end of the scenario.
	Times  int      `yaml:"times"`
	During Duration `yaml:"during"`

	// Line is where it is written.
	Line int `yaml:"-"`
}

// kind is what is broken, and how.
type kind interface {
	// check tells what is wrong with how it is written, and fills in defaults.
	check(c *checker)
	title() string
	// lasts is whether there is something to take back.
	lasts() bool
	// outside is whether it can be done with the API alone.
	outside() bool
	// needs are the hooks that it needs of a cluster.
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
	add("apiserver", f.APIServer != nil, f.APIServer)
	add("etcd", f.Etcd != nil, f.Etcd)
	add("controllers", f.Controllers != nil, f.Controllers)
	add("clock", f.Clock != nil, f.Clock)
	return set
}

func (f *Fault) kind() kind { return f.parts()[0].kind }

// repeats is whether it happens more than once.
func (f *Fault) repeats() bool { return f.Every > 0 || f.Schedule != "" }

// Endless is whether Run returns only when its context ends: such a fault is one for
// the background.
func (f *Fault) Endless() bool { return f.repeats() && f.Times == 0 && f.During == 0 }

// Title says what it does in a few words.
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
	case f.Times > 0 && f.repeats():
		text += fmt.Sprintf(", %d times", f.Times)
	case f.During > 0:
		text += fmt.Sprintf(", during %v", time.Duration(f.During))
	}
	return strings.TrimSpace(text)
}
