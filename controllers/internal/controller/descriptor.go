package controller

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	config "k8s.io/kube-controller-manager/config/v1alpha1"

	"minikcm.dev/minikcm/controllers/internal/env"
)

// Settings are the options of all controllers, under kube-controller-manager's names. A
// zero field means upstream's default.
type Settings = config.KubeControllerManagerConfiguration

// Descriptor is a controller. All fields but Name and Build may be left out.
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
	// Workers is the number of keys that the controller's loop reconciles at once; 0: one. Concurrency is the flag that
	// changes it, if there is one.
	Workers     int32
	Concurrency Concurrency
	// Defaults sets upstream's defaults of the controller's settings, and Flags adds its flags to fs, for s with the
	// defaults; nil: the controller has no flags but Concurrency.
	Defaults func(s *Settings)
	Flags    func(fs *pflag.FlagSet, s *Settings)
	// Idle returns why the controller has nothing to do, such as the lack of a key; nil or "": it works.
	Idle func(e *env.Env, s *Settings) string
	// Build makes the loops of an instance, and requests the informers that they need. It starts nothing.
	Build func(p *Parts) error
}

// Concurrency is a flag for a number of workers.
type Concurrency struct {
	// Flag is the flag's name; empty: there is none.
	Flag string
	// What names the objects that the workers process, in the plural.
	What string
	// In returns the field of the settings that holds the number.
	In func(s *Settings) *int32
}

// SetDefaults sets upstream's defaults of the controller's settings.
func (d *Descriptor) SetDefaults(s *Settings) {
	if d.Concurrency.Flag != "" {
		*d.Concurrency.In(s) = max(d.Workers, 1)
	}
	if d.Defaults != nil {
		d.Defaults(s)
	}
}

// AddFlags adds all flags of the controller to fs. Their values are stored in s, which
// already holds the defaults.
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

// NoneIfZero translates a setting, of which 0 means none, for options of which 0 means the default and a negative value
// none.
func NoneIfZero[N int32 | float32 | float64 | time.Duration](n N) N {
	if n == 0 {
		return -1
	}
	return n
}
