package ctrltest

import (
	"cmp"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Option changes how a manager is made.
type Option func(*settings)

type settings struct {
	user     string
	groups   []string
	adapters []adapter
}

// DefaultUser is who a manager's requests are made by unless As says otherwise: a
// service account, so that faults and the record of writes tell the operator from the
// test.
const DefaultUser = "system:serviceaccount:default:operator"

// As lets the manager's requests be made by user, in groups, instead of DefaultUser in
// system:masters.
func As(user string, groups ...string) Option {
	return func(s *settings) { s.user, s.groups = user, groups }
}

// Requests lets the manager run controllers of the type T of requests, as made by
// builder.TypedControllerManagedBy and controller.NewTyped. Those of reconcile.Request
// need no option.
func Requests[T comparable]() Option {
	return func(s *settings) { s.adapters = append(s.adapters, adaptTo[T]) }
}

// inTest returns the options of a manager in a test: no sockets unless they are asked
// for, and no check of controllers' names, as each test of a process makes its own.
func inTest(options manager.Options) manager.Options {
	options.Metrics.BindAddress = cmp.Or(options.Metrics.BindAddress, "0")
	options.HealthProbeBindAddress = cmp.Or(options.HealthProbeBindAddress, "0")
	options.PprofBindAddress = cmp.Or(options.PprofBindAddress, "0")
	if options.Controller.SkipNameValidation == nil {
		yes := true
		options.Controller.SkipNameValidation = &yes
	}
	if options.LeaderElectionNamespace == "" {
		options.LeaderElectionNamespace = "default" // outside a pod there is none
	}
	return options
}
