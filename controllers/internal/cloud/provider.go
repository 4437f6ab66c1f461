package cloud

import (
	"fmt"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// CheckProvider returns an error for a value of --cloud-provider that is not known. Upstream's
// value external has no effect: another program provides the cloud.
func CheckProvider(name string) error {
	switch name {
	case "", "external", simulatedcloud.Provider:
		return nil
	}
	return fmt.Errorf("--cloud-provider=%s: must be empty or %s", name, simulatedcloud.Provider)
}

// Idle returns why the controllers of a cloud have nothing to do; empty: there is one.
func Idle(_ *env.Env, s *controller.Settings) string {
	if s.KubeCloudShared.CloudProvider.Name == simulatedcloud.Provider {
		return ""
	}
	return "there is no cloud, because --cloud-provider is not " + simulatedcloud.Provider
}

// Flags adds the flag for the cloud.
func Flags(fs *pflag.FlagSet, s *controller.Settings) {
	fs.Var(providerFlag{&s.KubeCloudShared.CloudProvider.Name}, "cloud-provider", "the cloud of the nodes: "+simulatedcloud.Provider+", or none; external is none, because its controllers run elsewhere")
}

// providerFlag is the flag --cloud-provider, which refuses unknown clouds.
type providerFlag struct{ name *string }

func (f providerFlag) String() string {
	if f.name == nil {
		return ""
	}
	return *f.name
}

func (f providerFlag) Type() string { return "string" }

func (f providerFlag) Set(name string) error {
	if err := CheckProvider(name); err != nil {
		return err
	}
	*f.name = name
	return nil
}
