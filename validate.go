package minikcm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// Validate returns an error for options that cannot work together. Start calls it before
// it starts anything.
func (o *Options) Validate() error {
	if o.Storage.DataDir != "" && len(o.Sharing.Etcd.Endpoints) > 0 {
		return fmt.Errorf("a data directory (%s) and an external etcd were both given: choose one", o.Storage.DataDir)
	}
	if o.Security.Identity != nil && o.Storage.DataDir != "" {
		return fmt.Errorf("an identity and a data directory (%s), which has its own, were both given: choose one", o.Storage.DataDir)
	}
	if o.Storage.Snapshot != "" && (o.Storage.DataDir != "" || len(o.Sharing.Etcd.Endpoints) > 0) {
		return fmt.Errorf("only a cluster of its own begins with a snapshot (%s), none with a data directory or an external etcd: restore the snapshot to it first", o.Storage.Snapshot)
	}
	if err := errors.Join(o.validateObjects(), o.Storage.History.validate()); err != nil {
		return err
	}
	if o.API.Port < 0 || o.API.Port > 65535 {
		return fmt.Errorf("port %d is not between 0 and 65535", o.API.Port)
	}
	if o.API.BindAddress != "" && net.ParseIP(o.API.BindAddress) == nil {
		return fmt.Errorf("bind address %q is not an IP address", o.API.BindAddress)
	}
	if _, err := o.network(); err != nil {
		return err
	}
	if _, _, err := o.API.Certificate.read(); err != nil {
		return err
	}
	if _, _, err := o.Security.ServiceAccountTokens.read(); err != nil {
		return err
	}
	if o.Storage.ReloadEncryptionConfig && o.Storage.EncryptionConfig == "" {
		return errors.New("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config")
	}
	if err := o.Security.Audit.Validate(); err != nil {
		return err
	}
	if err := o.admission().Check(); err != nil {
		return err
	}
	if err := o.validateAuthorization(); err != nil {
		return err
	}
	if err := o.Security.Authentication.Validate(); err != nil {
		return err
	}
	switch o.Clock.Mode {
	case "", clock.ModeReal:
	case clock.ModeVirtual:
		if err := o.validatePace(); err != nil {
			return err
		}
	case clock.ModeScaled:
		if !(o.Clock.Speed > 0) || math.IsInf(o.Clock.Speed, 1) { // not a number is neither
			return fmt.Errorf("a scaled clock needs a factor above 0, not %v", o.Clock.Speed)
		}
	default:
		return fmt.Errorf("clock %q is none of %s, %s, %s", o.Clock.Mode, clock.ModeReal, clock.ModeScaled, clock.ModeVirtual)
	}
	if err := o.ValidateServing(); err != nil {
		return err
	}
	return o.validateParts()
}

// validateParts returns an error for options of the controllers, the scheduler and the nodes.
func (o *Options) validateParts() error {
	if _, err := o.selectedControllers(); err != nil {
		return err
	}
	if _, err := o.schedulerOptions(); err != nil {
		return err
	}
	if o.Sharing.LeaderElection && o.shares() {
		return errors.New("processes on one etcd divide the controllers and the scheduler among them, and elect no leaders: leave out the leader election")
	}
	if err := validateExtensions(o.API.Extensions); err != nil {
		return err
	}
	if err := CheckNodes(max(o.Nodes.Count, 0), o.Nodes.Spec, o.Nodes.Pools); err != nil {
		return err
	}
	if err := controllers.CheckCloudProvider(o.Nodes.Cloud); err != nil {
		return err
	}
	if err := o.Nodes.PodNetworks.check(o.declaredNodes()); err != nil {
		return err
	}
	return o.Nodes.Manage.Validate()
}

// inCloud reports whether the nodes are in the simulated cloud.
func (o *Options) inCloud() bool { return o.Nodes.Cloud == simulatedcloud.Provider }

// admission returns the options of the admission plugins.
func (o *Options) admission() apiserver.AdmissionOptions {
	options := apiserver.AdmissionOptions{Enable: o.Security.EnableAdmissionPlugins, Disable: o.Security.DisableAdmissionPlugins, ConfigFile: o.Security.AdmissionConfig}
	const taints = "TaintNodesByCondition"
	selected, err := o.selectedControllers()
	if err == nil && !slices.Contains(selected, controllers.NodeLifecycle) && !slices.Contains(options.Enable, taints) {
		options.Disable = append(slices.Clone(options.Disable), taints)
	}
	return options
}

// selectedControllers returns the names of the controllers that run.
func (o *Options) selectedControllers() ([]string, error) {
	return controllers.ParseSelection(strings.Join(o.Controllers.Selected, ","), o.gates())
}

func (o *Options) validateAuthorization() error {
	if o.Security.AuthorizationConfig != "" {
		if len(o.Security.AuthorizationModes) > 0 || o.Security.AuthorizationWebhook != (AuthorizationWebhook{}) {
			return errors.New("--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined")
		}
		_, err := apiserver.ReadAuthorizationConfig(o.Security.AuthorizationConfig)
		return err
	}
	if err := apiserver.CheckAuthorizationModes(o.Security.AuthorizationModes); err != nil {
		return err
	}
	asked := slices.Contains(o.Security.AuthorizationModes, apiserver.AuthorizeWebhook)
	switch configured := o.Security.AuthorizationWebhook.ConfigFile != ""; {
	case asked && !configured:
		return errors.New("authorization-mode Webhook's authorization config file not passed")
	case configured && !asked:
		return errors.New("cannot specify --authorization-webhook-config-file without mode Webhook")
	}
	return o.Security.AuthorizationWebhook.Validate()
}

// schedulerOptions reads the configuration of the scheduler.
func (o *Options) schedulerOptions() (controllers.SchedulerOptions, error) {
	opts := controllers.SchedulerOptions{PodGroups: o.gates().Enabled(featuregates.GenericWorkload)}
	if o.Controllers.SchedulerConfig == "" {
		return opts, nil
	}
	if o.Controllers.NoScheduler {
		return opts, fmt.Errorf("a configuration of the scheduler (%s) was given, but no scheduler runs: leave out one of them", o.Controllers.SchedulerConfig)
	}
	var err error
	opts.Config, err = controllers.ReadSchedulerConfig(o.Controllers.SchedulerConfig)
	return opts, err
}

// containerStop is the default of Latencies.ContainerStop: a client that deletes a pod and
// reads it at once finds it terminating, as in any cluster.
const containerStop = 50 * time.Millisecond

func (o *Options) complete() {
	switch {
	case o.Nodes.Count == 0:
		o.Nodes.Count = 1
	case o.Nodes.Count < 0:
		o.Nodes.Count = 0
	}
	if o.Notices.GetSink() == nil {
		o.Notices = o.Logger
	}
	if o.Clock.Start.IsZero() {
		o.Clock.Start = DefaultClockStart
	}
	o.Nodes.Latencies.ContainerStop = max(cmp.Or(o.Nodes.Latencies.ContainerStop, containerStop), 0)
	if o.Seed == 0 {
		o.Seed = clock.NewSeed()
	}
	if o.Sharing.Etcd.DialTimeout == 0 {
		o.Sharing.Etcd.DialTimeout = etcdDialTimeout
	}
	if len(o.Controllers.Selected) == 0 {
		o.Controllers.Selected = []string{"*"}
	}
}
