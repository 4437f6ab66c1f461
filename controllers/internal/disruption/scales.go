package disruption

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scales"
)

// sizes finds the wanted size of a pod's controller: the size of a ReplicaSet's Deployment, if it
// has one, otherwise the size in the controller's scale subresource.
type sizes struct {
	replicaSets appslisters.ReplicaSetLister
	deployments appslisters.DeploymentLister
	client      *scales.Client
}

// of returns the sizes of the controllers of pods, by the UID in the pods' references, and
// the errors of controllers without a size.
func (s *sizes) of(ctx context.Context, pods []*corev1.Pod) (sizes map[types.UID]int32, sizeless map[types.UID]error, err error) {
	sizes, sizeless = map[types.UID]int32{}, map[types.UID]error{}
	for _, pod := range pods {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil {
			continue
		}
		if _, known := sizes[ref.UID]; known || sizeless[ref.UID] != nil {
			continue
		}
		owner, size, found, err := s.find(ctx, pod.Namespace, ref)
		if none := (*sizelessError)(nil); errors.As(err, &none) {
			sizeless[ref.UID] = none
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if !found {
			continue
		}
		// Several ReplicaSets of one Deployment are one controller: the Deployment's size
		// counts once.
		if _, counted := sizes[owner]; counted && owner != ref.UID {
			size = 0
		} else if owner != ref.UID {
			sizes[owner] = size
		}
		sizes[ref.UID] = size
	}
	return sizes, sizeless, nil
}

// sizelessError means that objects of a resource have no size.
type sizelessError struct{ resource schema.GroupResource }

func (e *sizelessError) Error() string {
	return e.resource.String() + " does not implement the scale subresource"
}

func (s *sizes) find(ctx context.Context, namespace string, ref *metav1.OwnerReference) (owner types.UID, size int32, found bool, err error) {
	if ref.Kind == "ReplicaSet" && ref.APIVersion == "apps/v1" {
		return s.ofReplicaSet(namespace, ref)
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return "", 0, false, nil // as upstream, treat it as no controller
	}
	mappings, err := s.client.Mappings(schema.GroupKind{Group: gv.Group, Kind: ref.Kind}, gv.Version)
	if meta.IsNoMatchError(err) {
		return "", 0, false, nil
	}
	if err != nil {
		return "", 0, false, fmt.Errorf("finding the resource of %s %s: %w", ref.Kind, ref.Name, err)
	}
	got, err := s.client.Scales(namespace).Get(ctx, mappings[0].Resource.GroupResource(), ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		has, err := s.client.Has(mappings[0].Resource)
		if err == nil && !has {
			err = &sizelessError{mappings[0].Resource.GroupResource()}
		}
		return "", 0, false, err
	}
	if err != nil {
		return "", 0, false, fmt.Errorf("getting the scale of %s %s/%s: %w", ref.Kind, namespace, ref.Name, err)
	}
	if got.UID != ref.UID {
		return "", 0, false, nil
	}
	return ref.UID, got.Spec.Replicas, true, nil
}

func (s *sizes) ofReplicaSet(namespace string, ref *metav1.OwnerReference) (types.UID, int32, bool, error) {
	rs, err := s.replicaSets.ReplicaSets(namespace).Get(ref.Name)
	if err != nil || rs.UID != ref.UID {
		return "", 0, false, ignoreMissing(err)
	}
	above := metav1.GetControllerOfNoCopy(rs)
	if above == nil || above.Kind != "Deployment" {
		return rs.UID, ptr.Deref(rs.Spec.Replicas, 1), true, nil
	}
	d, err := s.deployments.Deployments(namespace).Get(above.Name)
	if err != nil || d.UID != above.UID {
		return "", 0, false, ignoreMissing(err)
	}
	return d.UID, ptr.Deref(d.Spec.Replicas, 1), true, nil
}

// ignoreMissing returns nil for an error that says that the object does not exist.
func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
