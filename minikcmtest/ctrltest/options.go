package ctrltest

import (
	"cmp"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Option configures NewManager.
type Option func(*settings)

type settings struct {
	user     string
	groups   []string
	adapters []adapter
	// failOnMachineTime makes a condition with the machine's time a failure.
	failOnMachineTime bool
}

// DefaultUser is the user of a manager's requests unless As sets another one. It is a
// service account, so that faults and the write record distinguish the operator from the
// test.
const DefaultUser = "system:serviceaccount:default:operator"

// As makes the manager's requests as user in groups, instead of as DefaultUser in
// system:masters.
func As(user string, groups ...string) Option {
	return func(s *settings) { s.user, s.groups = user, groups }
}

// Requests lets the manager run controllers with requests of type T, created by
// builder.TypedControllerManagedBy or controller.NewTyped. Controllers of reconcile.Request
// need no option.
func Requests[T comparable]() Option {
	return func(s *settings) { s.adapters = append(s.adapters, adaptTo[T]) }
}

// FailOnMachineTime fails the test if the manager writes a condition on a cluster with virtual time
// whose time is not the cluster's, such as meta.SetStatusCondition sets unless it is given one.
// Without it, the field and the call are logged.
func FailOnMachineTime() Option {
	return func(s *settings) { s.failOnMachineTime = true }
}

// inTest returns the options with the defaults for tests: no sockets unless the options set
// an address, and no check that controller names are unique in the process, because each
// test creates its own controllers.
func inTest(options manager.Options) manager.Options {
	options.Metrics.BindAddress = cmp.Or(options.Metrics.BindAddress, "0")
	options.HealthProbeBindAddress = cmp.Or(options.HealthProbeBindAddress, "0")
	options.PprofBindAddress = cmp.Or(options.PprofBindAddress, "0")
	if options.Controller.SkipNameValidation == nil {
		yes := true
		options.Controller.SkipNameValidation = &yes
	}
	if options.LeaderElectionNamespace == "" {
		options.LeaderElectionNamespace = "default" // outside a pod, controller-runtime has no default
	}
	return options
}
