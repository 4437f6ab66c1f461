package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/podreferences"
)

// checkPod checks the writes of a node's pods.
func (p NodeRestriction) checkPod(ctx context.Context, node string, a *Attributes) error {
	switch a.Subresource {
	case "":
		switch a.Operation {
		case Create:
			return p.checkMirror(ctx, node, a)
		case Delete:
			return p.checkBound(ctx, a, node, fmt.Sprintf("node %q can only delete pods with spec.nodeName set to itself", node))
		}
		return denied(a, fmt.Errorf("unexpected operation %q, node %q can only create and delete mirror pods", a.Operation, node))
	case "status":
		return checkPodStatus(node, a)
	case "eviction":
		if a.Operation != Create {
			return denied(a, fmt.Errorf("unexpected operation %s", a.Operation))
		}
		return p.checkBound(ctx, a, node, fmt.Sprintf("node %s can only evict pods with spec.nodeName set to itself", node))
	}
	return denied(a, fmt.Errorf("unexpected pod subresource %q, only 'status' and 'eviction' are allowed", a.Subresource))
}

// checkBound refuses a write of a pod that is not bound to the node.
func (p NodeRestriction) checkBound(ctx context.Context, a *Attributes, node, otherwise string) error {
	pod, isOld := a.Old.(*corev1.Pod)
	if !isOld {
		var err error
		if pod, err = p.Pod(ctx, a.Namespace, a.Name); err != nil {
			return retrieving(a, err)
		}
	}
	if pod.Spec.NodeName != node {
		return auth.Unrelated(denied(a, errors.New(otherwise)))
	}
	return nil
}

// checkMirror allows a node to create mirror pods of itself, which refer to nothing in the API.
func (p NodeRestriction) checkMirror(ctx context.Context, node string, a *Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return denied(a, fmt.Errorf("unexpected type %T", a.Object))
	}
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; !mirror {
		return denied(a, fmt.Errorf("pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node))
	}
	if pod.Spec.NodeName != node {
		return denied(a, fmt.Errorf("node %q can only create pods with spec.nodeName set to itself", node))
	}
	if err := p.checkOwner(ctx, node, a, pod); err != nil {
		return err
	}
	switch resource, err := podreferences.Any(pod); {
	case err != nil:
		return denied(a, fmt.Errorf("error checking mirror pod for API references: %w", err))
	case resource != "":
		return denied(a, fmt.Errorf("node %q can not create pods that reference %s", node, resource))
	}
	return nil
}

// checkOwner checks that the node is the controller of a mirror pod (KEP-1314).
func (p NodeRestriction) checkOwner(ctx context.Context, node string, a *Attributes, pod *corev1.Pod) error {
	if len(pod.OwnerReferences) > 1 {
		return denied(a, fmt.Errorf("node %q can only create pods with a single owner reference set to itself", node))
	}
	if len(pod.OwnerReferences) == 0 {
		return denied(a, fmt.Errorf("node %q can only create pods with an owner reference set to itself", node))
	}
	switch owner := pod.OwnerReferences[0]; {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != node:
		return denied(a, fmt.Errorf("node %q can only create pods with an owner reference set to itself", node))
	case !ptr.Deref(owner.Controller, false):
		return denied(a, fmt.Errorf("node %q can only create pods with a controller owner reference set to itself", node))
	case ptr.Deref(owner.BlockOwnerDeletion, false):
		return denied(a, fmt.Errorf("node %q must not set blockOwnerDeletion on an owner reference", node))
	default:
		object, err := p.Node(ctx, node)
		if apierrors.IsNotFound(err) {
			return err
		}
		if err != nil {
			return denied(a, fmt.Errorf("error looking up node %s to verify uid: %w", node, err))
		}
		if owner.UID != object.UID {
			return denied(a, fmt.Errorf("node %s UID mismatch: expected %s got %s", node, owner.UID, object.UID))
		}
	}
	return nil
}

// checkPodStatus lets a node write the status of its pods, except for the fields that others write.
func checkPodStatus(node string, a *Attributes) error {
	if a.Operation != Update {
		return denied(a, fmt.Errorf("unexpected operation %q", a.Operation))
	}
	old, isOld := a.Old.(*corev1.Pod)
	pod, isNew := a.Object.(*corev1.Pod)
	if !isOld || !isNew {
		return denied(a, fmt.Errorf("unexpected type %T", a.Object))
	}
	sameClaim := func(x, y corev1.PodResourceClaimStatus) bool {
		return x.Name == y.Name && ptr.Equal(x.ResourceClaimName, y.ResourceClaimName)
	}
	switch {
	case old.Spec.NodeName != node:
		return auth.Unrelated(denied(a, fmt.Errorf("node %q can only update pod status for pods with spec.nodeName set to itself", node)))
	case !maps.Equal(old.Labels, pod.Labels):
		return denied(a, fmt.Errorf("node %q cannot update labels through pod status", node))
	case !slices.EqualFunc(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses, sameClaim):
		return denied(a, fmt.Errorf("node %q cannot update resource claim statues", node))
	case !sameExtendedClaim(old.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus):
		return denied(a, fmt.Errorf("node %q cannot update extended resource claim status", node))
	}
	return nil
}

func sameExtendedClaim(a, b *corev1.PodExtendedResourceClaimStatus) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ResourceClaimName == b.ResourceClaimName && slices.Equal(a.RequestMappings, b.RequestMappings)
}

// checkToken allows a node to request tokens that are bound to its pods, for the audiences of
// their volumes (KEP-4935).
func (p NodeRestriction) checkToken(ctx context.Context, node string, a *Attributes) error {
	if a.Operation != Create || a.Subresource != "token" {
		return nil
	}
	request, ok := a.Object.(*authenticationv1.TokenRequest)
	if !ok {
		return denied(a, fmt.Errorf("unexpected type %T", a.Object))
	}
	ref := request.Spec.BoundObjectRef
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "" {
		return denied(a, errors.New("node requested token not bound to a pod"))
	}
	if ref.UID == "" {
		return denied(a, errors.New("node requested token with a pod binding without a uid"))
	}
	pod, err := p.Pod(ctx, a.Namespace, ref.Name)
	switch {
	case err != nil:
		return retrieving(a, err)
	case ref.UID != pod.UID:
		return denied(a, fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	case pod.Spec.NodeName != node:
		return denied(a, errors.New("node requested token bound to a pod scheduled on a different node"))
	}
	if err := p.checkAudience(ctx, a, request.Spec.Audiences, pod); err != nil {
		return denied(a, err)
	}
	return nil
}

// checkAudience checks that a volume of the pod needs a token for the audience. A request
// without audiences arrives with the server's audiences.
func (p NodeRestriction) checkAudience(ctx context.Context, a *Attributes, audiences []string, pod *corev1.Pod) error {
	audience := ""
	switch {
	case slices.Equal(audiences, p.OwnAudiences()):
	case len(audiences) > 1:
		return errors.New("node may only request 0 or 1 audiences")
	case len(audiences) == 1:
		audience = audiences[0]
	}
	found, err := p.needsAudience(ctx, pod, audience)
	switch {
	case err != nil:
		return fmt.Errorf("error validating audience %q: %w", audience, err)
	case found:
		return nil
	}
	decision, _, err := p.Authorizer.Authorize(ctx, auth.Attributes{
		User: a.User, Verb: "request-serviceaccounts-token-audience", Resource: true, Version: "v1", Plural: audience, Namespace: a.Namespace, Name: a.Name,
	})
	switch {
	case decision == auth.Allow:
		return nil
	case err != nil:
		return fmt.Errorf("audience %q not found in pod spec volume, error authorizing %s to request tokens for this audience: %w", audience, a.User.Name, err)
	}
	return fmt.Errorf("audience %q not found in pod spec volume, %s is not authorized to request tokens for this audience", audience, a.User.Name)
}

// needsAudience reports whether a volume of the pod has a token for the audience: a projected
// volume, or one whose driver wants tokens.
func (p NodeRestriction) needsAudience(ctx context.Context, pod *corev1.Pod, audience string) (bool, error) {
	var errs []error
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == audience
		}) {
			return true, nil
		}
		driver, err := p.driverOf(ctx, pod, v)
		if err == nil && driver != "" {
			var needs bool
			if needs, err = p.driverNeeds(ctx, driver, audience); needs {
				return true, nil
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return false, utilerrors.NewAggregate(errs)
}

// driverOf returns the CSI driver of a volume; empty if it has none.
func (p NodeRestriction) driverOf(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (string, error) {
	name := ""
	switch {
	case v.CSI != nil:
		return v.CSI.Driver, nil
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		name = ephemeral.VolumeClaimName(pod, v)
	case v.PersistentVolumeClaim != nil:
		name = v.PersistentVolumeClaim.ClaimName
	default:
		return "", nil
	}
	claim, err := p.Claim(ctx, pod.Namespace, name)
	if err != nil {
		return "", err
	}
	volume, err := p.Volume(ctx, claim.Spec.VolumeName)
	if err != nil || volume.Spec.CSI == nil {
		return "", err
	}
	return volume.Spec.CSI.Driver, nil
}

func (p NodeRestriction) driverNeeds(ctx context.Context, name, audience string) (bool, error) {
	driver, err := p.Driver(ctx, name)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(driver.Spec.TokenRequests, func(r storagev1.TokenRequest) bool { return r.Audience == audience }), nil
}

// checkPodCertificate compares the fields of a PodCertificateRequest about the node, the pod and its
// service account with these objects (KEP-4317).
func (p NodeRestriction) checkPodCertificate(ctx context.Context, node string, a *Attributes) error {
	if a.Operation != Create {
		return denied(a, fmt.Errorf("unexpected operation %v", a.Operation))
	}
	if a.Subresource != "" {
		return denied(a, fmt.Errorf("unexpected subresource %v", a.Subresource))
	}
	request, ok := a.Object.(*certificatesv1.PodCertificateRequest)
	if !ok {
		return denied(a, fmt.Errorf("unexpected type %T", a.Object))
	}
	asked, name := &request.Spec, a.Namespace+"/"+request.Spec.PodName
	if string(asked.NodeName) != node {
		return denied(a, fmt.Errorf("PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", asked.NodeName, node))
	}
	object, err := p.Node(ctx, node)
	if err != nil {
		return retrieving(a, fmt.Errorf("while retrieving node %q named in the PodCertificateRequest: %w", node, err))
	}
	if object.UID != asked.NodeUID {
		return fmt.Errorf("PodCertificateRequest for pod %q names node UID %q, inconsistent with the running node (%q)", name, asked.NodeUID, object.UID)
	}
	pod, err := p.Pod(ctx, a.Namespace, asked.PodName)
	if err != nil {
		return retrieving(a, fmt.Errorf("while retrieving pod %q named in the PodCertificateRequest: %w", name, err))
	}
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case asked.PodUID != pod.UID:
		return fmt.Errorf("PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q", name, asked.PodUID, pod.UID)
	case pod.Spec.NodeName != node:
		return denied(a, fmt.Errorf("pod %q is not running on node %q named in the PodCertificateRequest", name, node))
	case mirror:
		return denied(a, fmt.Errorf("pod %q is a mirror pod", name))
	case asked.ServiceAccountName != pod.Spec.ServiceAccountName:
		return denied(a, fmt.Errorf("PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)", name, asked.ServiceAccountName, pod.Spec.ServiceAccountName))
	}
	account, err := p.Account(ctx, a.Namespace, asked.ServiceAccountName)
	if err != nil {
		return retrieving(a, fmt.Errorf("while retrieving service account %q named in the PodCertificateRequest: %w", a.Namespace+"/"+asked.ServiceAccountName, err))
	}
	if asked.ServiceAccountUID != account.UID {
		return fmt.Errorf("PodCertificateRequest for pod %q names service account UID %q, which differs from the running service account (%q)", name, asked.ServiceAccountUID, account.UID)
	}
	return nil
}

// retrieving returns the error of a lookup as it is if the object may exist later, and forbids
// the request otherwise.
func retrieving(a *Attributes, err error) error {
	if apierrors.IsNotFound(err) {
		return err
	}
	return denied(a, err)
}
