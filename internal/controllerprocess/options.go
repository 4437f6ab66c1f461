package process

import (
	"errors"
	"fmt"
	"strings"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/metrics"
	config "k8s.io/controller-manager/config"
	genericv1alpha1 "k8s.io/controller-manager/config/v1alpha1"
	generic "k8s.io/controller-manager/options"
	kcm "k8s.io/kube-controller-manager/config/v1alpha1"

	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/controllerprocess/serving"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/releases"
)

// Options are the options of the command line, under upstream's names
// (https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/).
type Options struct {
	// Kubeconfig and Master identify the cluster. The caller fills in the default of
	// Kubeconfig.
	Kubeconfig, Master string
	// AuthenticationKubeconfig and AuthorizationKubeconfig identify the clusters that
	// authenticate and authorize the clients of the HTTPS server; empty: the same cluster.
	AuthenticationKubeconfig, AuthorizationKubeconfig string
	// OwnAccounts makes each controller act as a service account of its own.
	OwnAccounts bool
	// FeatureGates are the items of --feature-gates.
	FeatureGates []string
	Generic      *generic.GenericControllerManagerConfigurationOptions
	Serving      *serving.Options
	Settings     *controllers.Settings
	Logs         *logsapi.LoggingConfiguration
	Metrics      *metrics.Options
	// Tokens makes the signer of the tokens that serviceaccount-token-controller issues.
	Tokens TokenSigner

	sets cliflag.NamedFlagSets
}

// NewOptions returns options with upstream's defaults, except that the rate of requests is
// not limited.
func NewOptions() *Options {
	c := &config.GenericControllerManagerConfiguration{Controllers: []string{"*"}}
	c.ClientConnection.ContentType = "application/vnd.kubernetes.protobuf"
	c.MinResyncPeriod.Duration = 12 * time.Hour
	e := &c.LeaderElection
	e.LeaderElect, e.ResourceLock, e.ResourceName, e.ResourceNamespace = true, "leases", "kube-controller-manager", "kube-system"
	e.LeaseDuration.Duration, e.RenewDeadline.Duration, e.RetryPeriod.Duration = 15*time.Second, 10*time.Second, 2*time.Second
	return &Options{
		Generic: generic.NewGenericControllerManagerConfigurationOptions(c), Serving: serving.NewOptions(),
		Settings: controllers.Defaults(), Logs: logsapi.NewLoggingConfiguration(), Metrics: metrics.NewOptions(),
	}
}

// Flags returns the flags in the named sets in which help shows them. It builds them once.
func (o *Options) Flags() *cliflag.NamedFlagSets {
	if len(o.sets.Order) > 0 {
		return &o.sets
	}
	o.Generic.AddFlags(&o.sets, controllers.Names(), disabledByDefault(), aliases())
	fs := o.sets.FlagSet("generic")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "kubeconfig of the cluster (default $KUBECONFIG, or what \"minikcm up\" wrote)")
	fs.StringVar(&o.Master, "master", o.Master, "address of the cluster, instead of the kubeconfig's")
	fs.BoolVar(&o.OwnAccounts, "use-service-account-credentials", o.OwnAccounts, "let each controller act as a service account of its own in kube-system")
	fs.StringSliceVar(&o.FeatureGates, "feature-gates", nil, "feature gates, name=true or name=false; GenericWorkload=true runs the podgroup-protection-controller, for a cluster that serves PodGroups of scheduling.k8s.io/v1beta1, DRAResourcePoolStatus=true the resourcepoolstatusrequest-controller, for one that serves ResourcePoolStatusRequests of resource.k8s.io/v1alpha3, and StorageVersionAPI=true the storageversion-garbage-collector-controller, for one that serves StorageVersions of internal.apiserver.k8s.io/v1alpha1")
	o.Serving.AddFlags(&o.sets)
	o.sets.FlagSet("authentication").StringVar(&o.AuthenticationKubeconfig, "authentication-kubeconfig", "", "kubeconfig of the cluster that authenticates tokens of HTTPS clients (default --kubeconfig)")
	o.sets.FlagSet("authorization").StringVar(&o.AuthorizationKubeconfig, "authorization-kubeconfig", "", "kubeconfig of the cluster that authorizes HTTPS clients (default --kubeconfig)")
	for _, d := range controllers.Descriptors() {
		d.AddFlags(o.sets.FlagSet(d.Name), o.Settings)
	}
	logsapi.AddFlags(o.Logs, o.sets.FlagSet("logs"))
	o.Metrics.AddFlags(o.sets.FlagSet("metrics"))
	return &o.sets
}

// complete validates the options and returns the selected controllers and the generic
// configuration that results from the flags.
func (o *Options) complete() ([]string, *config.GenericControllerManagerConfiguration, error) {
	set, err := featuregates.Parse(o.FeatureGates)
	if err != nil {
		return nil, nil, fmt.Errorf("--feature-gates: %w", err)
	}
	gates, err := featuregates.New(releases.Newest, set)
	if err != nil {
		return nil, nil, fmt.Errorf("--feature-gates: %w", err)
	}
	selected, err := controllers.ParseSelection(strings.Join(o.Generic.Controllers, ","), gates)
	if err != nil {
		return nil, nil, err
	}
	errs := append(o.Generic.Validate(controllers.Names(), disabledByDefault(), aliases()), o.Serving.Validate())
	errs = append(errs, o.Metrics.Validate()...)
	completed := &config.GenericControllerManagerConfiguration{}
	errs = append(errs, o.Generic.ApplyTo(completed, controllers.Names(), disabledByDefault(), aliases()))
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	return selected, completed, nil
}

// external returns the configuration as /configz shows it.
func (o *Options) external(c *config.GenericControllerManagerConfiguration) (*controllers.Settings, error) {
	shown := o.Settings.DeepCopy()
	shown.KubeCloudShared.UseServiceAccountCredentials = o.OwnAccounts
	shown.SetGroupVersionKind(kcm.SchemeGroupVersion.WithKind("KubeControllerManagerConfiguration"))
	if err := genericv1alpha1.Convert_config_GenericControllerManagerConfiguration_To_v1alpha1_GenericControllerManagerConfiguration(c, &shown.Generic, nil); err != nil {
		return nil, fmt.Errorf("converting the configuration: %w", err)
	}
	return shown, nil
}

func disabledByDefault() []string {
	var names []string
	for _, d := range controllers.Descriptors() {
		if d.DisabledByDefault {
			names = append(names, d.Name)
		}
	}
	return names
}

func aliases() map[string]string {
	names := map[string]string{}
	for _, d := range controllers.Descriptors() {
		for _, alias := range d.Aliases {
			names[alias] = d.Name
		}
	}
	return names
}
