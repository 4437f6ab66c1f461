package informers

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/lifecycle"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
)

// ListOptions are the options of a list or watch request.
type ListOptions = metav1.ListOptions

type resyncPeriod = time.Duration

// The typed accessors, each as client-go's factory has it, but on this factory: an
// informer that is asked for through one of them comes from InformerFor.

// Admissionregistration returns the informers of the group.
func (f *Factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f, f.namespace, f.tweak)
}

// Internal returns the informers of the group.
func (f *Factory) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(f, f.namespace, f.tweak)
}

// Apps returns the informers of the group.
func (f *Factory) Apps() apps.Interface { return apps.New(f, f.namespace, f.tweak) }

// Autoscaling returns the informers of the group.
func (f *Factory) Autoscaling() autoscaling.Interface {
	return autoscaling.New(f, f.namespace, f.tweak)
}

// Batch returns the informers of the group.
func (f *Factory) Batch() batch.Interface { return batch.New(f, f.namespace, f.tweak) }

// Certificates returns the informers of the group.
func (f *Factory) Certificates() certificates.Interface {
	return certificates.New(f, f.namespace, f.tweak)
}

// Coordination returns the informers of the group.
func (f *Factory) Coordination() coordination.Interface {
	return coordination.New(f, f.namespace, f.tweak)
}

// Core returns the informers of the group.
func (f *Factory) Core() core.Interface { return core.New(f, f.namespace, f.tweak) }

// Discovery returns the informers of the group.
func (f *Factory) Discovery() discovery.Interface { return discovery.New(f, f.namespace, f.tweak) }

// Events returns the informers of the group.
func (f *Factory) Events() events.Interface { return events.New(f, f.namespace, f.tweak) }

// Extensions returns the informers of the group.
func (f *Factory) Extensions() extensions.Interface { return extensions.New(f, f.namespace, f.tweak) }

// Flowcontrol returns the informers of the group.
func (f *Factory) Flowcontrol() flowcontrol.Interface {
	return flowcontrol.New(f, f.namespace, f.tweak)
}

// Lifecycle returns the informers of the group.
func (f *Factory) Lifecycle() lifecycle.Interface { return lifecycle.New(f, f.namespace, f.tweak) }

// Networking returns the informers of the group.
func (f *Factory) Networking() networking.Interface { return networking.New(f, f.namespace, f.tweak) }

// Node returns the informers of the group.
func (f *Factory) Node() node.Interface { return node.New(f, f.namespace, f.tweak) }

// Policy returns the informers of the group.
func (f *Factory) Policy() policy.Interface { return policy.New(f, f.namespace, f.tweak) }

// Rbac returns the informers of the group.
func (f *Factory) Rbac() rbac.Interface { return rbac.New(f, f.namespace, f.tweak) }

// Resource returns the informers of the group.
func (f *Factory) Resource() resource.Interface { return resource.New(f, f.namespace, f.tweak) }

// Scheduling returns the informers of the group.
func (f *Factory) Scheduling() scheduling.Interface { return scheduling.New(f, f.namespace, f.tweak) }

// Storage returns the informers of the group.
func (f *Factory) Storage() storage.Interface { return storage.New(f, f.namespace, f.tweak) }

// Storagemigration returns the informers of the group.
func (f *Factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f, f.namespace, f.tweak)
}
