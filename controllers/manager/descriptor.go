package manager

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	config "k8s.io/kube-controller-manager/config/v1alpha1"

	"minikcm.dev/minikcm/controllers/env"
)

// Controller is what a constructor returns: something that works until its
// context ends.
type Controller interface {
	// Run returns when ctx has ended and all of the controller with it. After an error
	// or a panic before that, the manager makes the controller anew and runs it again.
	Run(ctx context.Context) error
}

// Settings are the options of all controllers, as kube-controller-manager names
// them. A zero field is upstream's default.
type Settings = config.KubeControllerManagerConfiguration

// Descriptor is one controller's row in the table.
type Descriptor struct {
	// Name is upstream's.
	Name string
	// Aliases are the names by which upstream's command line knows it too.
	Aliases []string
	// DisabledByDefault: "*" does not select it.
	DisabledByDefault bool
	// Account is the service account in kube-system that it acts as where each
	// controller has its own, as upstream has it; empty: the manager's own.
	Account string
	// About says in a few words what it does.
	About string
	// Watches and Writes are the resources that it does that with.
	Watches, Writes []string
	// Docs is where Kubernetes' documentation, below https://kubernetes.io/docs/,
	// says what it does.
	Docs string
	// Concurrency is the flag that says how many keys are worked on at once, if
	// there is one.
	Concurrency Concurrency
	// Flags adds its other flags; nil: it has none. The defaults are in s already.
	Flags func(fs *pflag.FlagSet, s *Settings)
	// New makes the controller and asks env's informers for what it needs. It
	// starts nothing.
	New func(ctx context.Context, e *env.Env, s *Settings) (Controller, error)
}

// Concurrency is a flag for a number of workers.
type Concurrency struct {
	// Flag is the flag's name; empty: there is none.
	Flag string
	// What are the things worked on.
	What string
	// Default is how many there are unless the flag is given.
	Default int32
	// In is where the settings have the number.
	In func(s *Settings) *int32
}

// AddFlags adds all flags of the controller to fs. What they are given goes into s,
// which holds the defaults (Defaults).
func (d *Descriptor) AddFlags(fs *pflag.FlagSet, s *Settings) {
	if c := d.Concurrency; c.Flag != "" {
		fs.Int32Var(c.In(s), c.Flag, *c.In(s), fmt.Sprintf("how many %s are worked on at once", c.What))
	}
	if d.Flags != nil {
		d.Flags(fs, s)
	}
}

// DocsURL is the address of upstream's documentation.
func (d *Descriptor) DocsURL() string {
	return "https://kubernetes.io/docs/" + strings.TrimPrefix(d.Docs, "/")
}

// constructor gives a package's New the table's type.
func constructor[C Controller](make func(context.Context, *env.Env) (C, error)) func(context.Context, *env.Env, *Settings) (Controller, error) {
	return func(ctx context.Context, e *env.Env, _ *Settings) (Controller, error) { return make(ctx, e) }
}

// configured is constructor for a package whose New has options.
func configured[C Controller, O any](make func(context.Context, *env.Env, O) (C, error), options func(*Settings) O) func(context.Context, *env.Env, *Settings) (Controller, error) {
	return func(ctx context.Context, e *env.Env, s *Settings) (Controller, error) {
		return make(ctx, e, options(s))
	}
}
