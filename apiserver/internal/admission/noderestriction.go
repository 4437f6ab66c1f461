package admission

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/auth"
)

// NodeRestriction limits kubelets to writing their own Node and the objects that belong to it:
// the pods that are bound to it, its Lease, its CSINode, its ResourceSlices, and tokens and
// certificates for its pods (Kubernetes documentation, "Using Node Authorization: Admission
// control"). Other users are not concerned. It checks what the Node authorizer cannot see.
type NodeRestriction struct {
	Authorizer auth.Authorizer
	// The functions return an object or a NotFound error.
	Node    func(ctx context.Context, name string) (*corev1.Node, error)
	Pod     func(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	Account func(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
	Claim   func(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error)
	Volume  func(ctx context.Context, name string) (*corev1.PersistentVolume, error)
	Driver  func(ctx context.Context, name string) (*storagev1.CSIDriver, error)
	// OwnAudiences are the audiences of a token whose request names none.
	OwnAudiences func() []string
}

// Mutate implements Mutator for creates and updates, as upstream before they are validated.
func (p NodeRestriction) Mutate(ctx context.Context, a *Attributes) error {
	if a.Operation != Create && a.Operation != Update {
		return nil
	}
	return p.check(ctx, a)
}

// Check implements Checker for deletes.
func (p NodeRestriction) Check(ctx context.Context, a *Attributes) error {
	if a.Operation != Delete {
		return nil
	}
	return p.check(ctx, a)
}

func (p NodeRestriction) check(ctx context.Context, a *Attributes) error {
	node, isNode := auth.NodeName(a.User)
	if !isNode {
		return nil
	}
	if node == "" {
		return denied(a, fmt.Errorf("could not determine node from user %q", a.User.Name))
	}
	switch resource := a.Resource.GroupResource(); resource.Group {
	case "":
		return p.checkCore(ctx, node, a)
	case "coordination.k8s.io":
		if resource.Resource == "leases" {
			return checkLease(node, a)
		}
	case storagev1.GroupName:
		if resource.Resource == "csinodes" && nameOf(a) != node {
			return denied(a, errors.New("can only access CSINode with the same name as the requesting node"))
		}
	case resourcev1.GroupName:
		if resource.Resource == "resourceslices" {
			return checkSlice(node, a)
		}
	case certificatesv1.GroupName:
		switch resource.Resource {
		case "certificatesigningrequests":
			return checkSigning(node, a)
		case "podcertificaterequests":
			return p.checkPodCertificate(ctx, node, a)
		}
	}
	return nil
}

// checkCore checks writes of the group of core/v1.
func (p NodeRestriction) checkCore(ctx context.Context, node string, a *Attributes) error {
	switch a.Resource.Plural {
	case "pods":
		return p.checkPod(ctx, node, a)
	case "nodes":
		return checkNode(node, a)
	case "persistentvolumeclaims":
		if a.Subresource != "status" {
			return denied(a, errors.New("may only update PVC status"))
		}
		return checkClaimStatus(node, a)
	case "serviceaccounts":
		return p.checkToken(ctx, node, a)
	}
	return nil
}

// nameOf returns the name of the object that is written.
func nameOf(a *Attributes) string {
	if a.Operation == Create && a.Object != nil && a.Subresource == "" {
		if object, err := meta.Accessor(a.Object); err == nil {
			return object.GetName()
		}
	}
	return a.Name
}

// checkNode limits a node to its own Node, whose taints, owners and restricted labels it cannot
// change: they decide which pods run there.
func checkNode(node string, a *Attributes) error {
	if name := nameOf(a); name != node {
		return denied(a, fmt.Errorf("node %q is not allowed to modify node %q", node, name))
	}
	object, _ := a.Object.(*corev1.Node)
	if object == nil {
		return nil
	}
	old, _ := a.Old.(*corev1.Node)
	if a.Operation == Create || old == nil {
		if object.Spec.ConfigSource != nil {
			return denied(a, fmt.Errorf("node %q is not allowed to create pods with a non-nil configSource", node))
		}
		if labels := ForbiddenNodeLabels(object.Labels, nil); len(labels) > 0 {
			return denied(a, fmt.Errorf("node %q is not allowed to set the following labels: %s", node, strings.Join(labels, ", ")))
		}
		return nil
	}
	switch labels := ForbiddenNodeLabels(object.Labels, old.Labels); {
	case object.Spec.ConfigSource != nil && !apiequality.Semantic.DeepEqual(object.Spec.ConfigSource, old.Spec.ConfigSource):
		return denied(a, fmt.Errorf("node %q is not allowed to update configSource to a new non-nil configSource", node))
	case !apiequality.Semantic.DeepEqual(object.Spec.Taints, old.Spec.Taints):
		return denied(a, fmt.Errorf("node %q is not allowed to modify taints", node))
	case !apiequality.Semantic.DeepEqual(object.OwnerReferences, old.OwnerReferences):
		return denied(a, fmt.Errorf("node %q is not allowed to modify ownerReferences", node))
	case len(labels) > 0:
		return denied(a, fmt.Errorf("is not allowed to modify labels: %s", strings.Join(labels, ", ")))
	}
	return nil
}

// kubeletLabels are the labels in the domains kubernetes.io and k8s.io that a kubelet may set
// on its Node, besides those in kubeletLabelDomains.
var kubeletLabels = []string{
	corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
	corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
}

var kubeletLabelDomains = []string{corev1.LabelNamespaceSuffixKubelet, corev1.LabelNamespaceSuffixNode}

// ForbiddenNodeLabels returns the keys, sorted, in which a Node's labels differ from the old
// ones although its kubelet must not change them.
func ForbiddenNodeLabels(labels, old map[string]string) []string {
	var forbidden []string
	for key, value := range labels {
		if was, ok := old[key]; (!ok || was != value) && !mayLabel(key) {
			forbidden = append(forbidden, key)
		}
	}
	for key := range old {
		if _, ok := labels[key]; !ok && !mayLabel(key) {
			forbidden = append(forbidden, key)
		}
	}
	slices.Sort(forbidden)
	return forbidden
}

// mayLabel reports whether a kubelet may set a label.
func mayLabel(key string) bool {
	domain, _, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return true
	}
	in := func(of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }
	switch {
	case in(corev1.LabelNamespaceNodeRestriction):
		return false
	case !in("kubernetes.io") && !in("k8s.io"):
		return true
	}
	return slices.Contains(kubeletLabels, key) || slices.ContainsFunc(kubeletLabelDomains, in)
}

// checkClaimStatus lets a node report the capacity and conditions of a claim.
func checkClaimStatus(node string, a *Attributes) error {
	old, isOld := a.Old.(*corev1.PersistentVolumeClaim)
	claim, isNew := a.Object.(*corev1.PersistentVolumeClaim)
	if a.Operation != Update || !isOld || !isNew {
		return denied(a, fmt.Errorf("unexpected operation %q", a.Operation))
	}
	old, claim = withoutReport(old), withoutReport(claim)
	if !apiequality.Semantic.DeepEqual(old, claim) {
		return denied(a, fmt.Errorf("node %q is not allowed to update fields other than status.quantity and status.conditions: %v", node, diff.Diff(old, claim)))
	}
	return nil
}

// withoutReport returns a copy of a claim without the fields that a node may change.
func withoutReport(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	claim = claim.DeepCopy()
	claim.ResourceVersion, claim.ManagedFields = "", nil
	status := &claim.Status
	status.Capacity, status.Conditions, status.AllocatedResources, status.AllocatedResourceStatuses = nil, nil, nil, nil
	return claim
}

func checkLease(node string, a *Attributes) error {
	switch {
	case a.Namespace != corev1.NamespaceNodeLease:
		return denied(a, fmt.Errorf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease))
	case nameOf(a) != node:
		return denied(a, errors.New("can only access node lease with the same name as the requesting node"))
	}
	return nil
}

// checkSlice checks creates and deletes; the authorizer checks the other verbs, but sees
// neither a new slice nor the slices that a deletecollection deletes.
func checkSlice(node string, a *Attributes) error {
	slice, verb := a.Object, "create"
	switch a.Operation {
	case Create:
	case Delete:
		slice, verb = a.Old, "delete"
	default:
		return nil
	}
	if s, ok := slice.(*resourcev1.ResourceSlice); ok && ptr.Deref(s.Spec.NodeName, "") == node {
		return nil
	}
	return denied(a, fmt.Errorf("can only %s ResourceSlice with the same NodeName as the requesting node", verb))
}

// checkSigning allows a node to ask for certificates of kubelets in its own name only.
func checkSigning(node string, a *Attributes) error {
	request, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if a.Operation != Create || a.Subresource != "" || !ok {
		return nil
	}
	if name := request.Spec.SignerName; name != certificatesv1.KubeletServingSignerName && name != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return nil
	}
	block, _ := pem.Decode(request.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return denied(a, errors.New("unable to parse csr: PEM block type must be CERTIFICATE REQUEST"))
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return denied(a, fmt.Errorf("unable to parse csr: %w", err))
	}
	if parsed.Subject.CommonName != auth.Node(node).Name {
		return denied(a, fmt.Errorf("can only create a node CSR with CN=%s", auth.Node(node).Name))
	}
	return nil
}
