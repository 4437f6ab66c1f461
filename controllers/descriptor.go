package controllers

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	config "k8s.io/kube-controller-manager/config/v1alpha1"

	"minikcm.dev/minikcm/controllers/internal/env"
)

// Controller is a controller that a constructor has built and the manager runs.
type Controller interface {
	// Run works until ctx ends, and returns when every goroutine of the controller has
	// ended. If it returns earlier, with or without an error, or panics, the manager
	// rebuilds the controller and runs it again.
	Run(ctx context.Context) error
}

// Settings are the options of all controllers, under kube-controller-manager's names. A
// zero field means upstream's default.
type Settings = config.KubeControllerManagerConfiguration

// Descriptor is one controller's row in the table.
type Descriptor struct {
	// Name is upstream's name of the controller.
	Name string
	// Aliases are the other names that upstream's command line accepts for it.
	Aliases []string
	// DisabledByDefault excludes the controller from "*" in a selection.
	DisabledByDefault bool
	// Gate is the feature gate with which the kinds of the controller are served: without it, the controller
	// does not run. Empty: none.
	Gate string
	// Account is the service account in kube-system that the controller acts as when each
	// controller uses its own, as upstream names it. Empty: the manager's own credentials.
	Account string
	// OwnCredentials reports that the controller nevertheless acts as the manager itself, as
	// upstream: it issues the credentials of the others.
	OwnCredentials bool
	// About completes the sentence "This controller ..." in a few words.
	About string
	// Watches and Writes are the resources that the controller reads and changes.
	Watches, Writes []string
	// Docs is the path of its documentation below https://kubernetes.io/docs/.
	Docs string
	// Concurrency is the flag for the number of keys that are reconciled at once, if there
	// is one.
	Concurrency Concurrency
	// Flags adds the controller's other flags to fs; nil: it has none. s already holds the
	// defaults.
	Flags func(fs *pflag.FlagSet, s *Settings)
	// New builds the controller and requests the informers that it needs from e. It starts
	// nothing.
	New func(ctx context.Context, e *env.Env, s *Settings) (Controller, error)
}

// Concurrency is a flag for a number of workers.
type Concurrency struct {
	// Flag is the flag's name; empty: there is none.
	Flag string
	// What names the objects that the workers process, in the plural.
	What string
	// Default is the number of workers unless the flag is given.
	Default int32
	// In returns the field of the settings that holds the number.
	In func(s *Settings) *int32
}

// AddFlags adds all flags of the controller to fs. Their values are stored in s, which
// already holds the defaults (Defaults).
func (d *Descriptor) AddFlags(fs *pflag.FlagSet, s *Settings) {
	if c := d.Concurrency; c.Flag != "" {
		fs.Int32Var(c.In(s), c.Flag, *c.In(s), fmt.Sprintf("the number of %s that are reconciled concurrently", c.What))
	}
	if d.Flags != nil {
		d.Flags(fs, s)
	}
}

// DocsURL is the address of upstream's documentation.
func (d *Descriptor) DocsURL() string {
	return "https://kubernetes.io/docs/" + strings.TrimPrefix(d.Docs, "/")
}

// constructor adapts a package's New to the type of Descriptor.New.
func constructor[C Controller](make func(context.Context, *env.Env) (C, error)) func(context.Context, *env.Env, *Settings) (Controller, error) {
	return func(ctx context.Context, e *env.Env, _ *Settings) (Controller, error) { return make(ctx, e) }
}

// configured is constructor for a package whose New takes options.
func configured[C Controller, O any](make func(context.Context, *env.Env, O) (C, error), options func(*Settings) O) func(context.Context, *env.Env, *Settings) (Controller, error) {
	return func(ctx context.Context, e *env.Env, s *Settings) (Controller, error) {
		return make(ctx, e, options(s))
	}
}
