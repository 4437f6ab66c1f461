package nodeauthorizer

import (
	"context"
	"errors"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"

	"minikcm.dev/minikcm/apiserver/internal/rbac"
	"minikcm.dev/minikcm/internal/auth"
)

// Authorizer implements auth.Authorizer. Its methods may be called concurrently.
type Authorizer struct {
	relations *relations
	// rules are for resources that are the same for all nodes.
	rules *rbac.Rules
}

// New returns an Authorizer that decides by the objects of sources and, for resources that all
// nodes may use alike, by rules, which are the rules of the ClusterRole system:node.
func New(sources Sources, rules []rbacv1.PolicyRule) *Authorizer {
	return &Authorizer{newRelations(sources), rbac.NewRules(rules)}
}

// Authorize implements auth.Authorizer. It allows a request or has no opinion.
func (z *Authorizer) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, string, error) {
	node, isNode := auth.NodeName(a.User)
	switch {
	case !isNode:
		return auth.NoOpinion, "", nil
	case node == "":
		return auth.NoOpinion, fmt.Sprintf("unknown node for user %q", a.User.Name), nil
	}
	d, err := z.decide(ctx, node, &a)
	if err != nil || !d.allowed {
		return auth.NoOpinion, d.reason, err
	}
	return auth.Allow, "", nil
}

// Unrelated reports whether a request is refused because no pod on the node refers to the object.
func (z *Authorizer) Unrelated(ctx context.Context, a auth.Attributes) bool {
	node, isNode := auth.NodeName(a.User)
	if !isNode || node == "" {
		return false
	}
	d, err := z.decide(ctx, node, &a)
	return err == nil && d.unrelated
}

// RulesFor implements auth.Authorizer. As upstream, it cannot list what a node may do.
func (z *Authorizer) RulesFor(_ context.Context, user *auth.User, _ string) (auth.Rules, error) {
	if _, isNode := auth.NodeName(user); isNode {
		return auth.Rules{Incomplete: true}, errors.New("node authorizer does not support user rule resolution")
	}
	return auth.Rules{}, nil
}

// decision is the answer to a request of a node.
type decision struct {
	allowed bool
	reason  string
	// unrelated means that no pod on the node refers to the object.
	unrelated bool
}

func allow() (decision, error) { return decision{allowed: true}, nil }

func refuse(reason string) (decision, error) { return decision{reason: reason}, nil }

// decide applies the rules of the request's resource.
func (z *Authorizer) decide(ctx context.Context, node string, a *auth.Attributes) (decision, error) {
	if a.Resource {
		switch a.Group {
		case corev1.GroupName:
			return z.core(ctx, node, a)
		case coordinationv1.GroupName:
			if a.Plural == "leases" {
				return lease(node, a)
			}
		case storagev1.GroupName:
			switch a.Plural {
			case "volumeattachments":
				return z.get(ctx, node, attachments, a)
			case "csinodes":
				return csiNode(node, a)
			}
		case resourcev1.GroupName:
			switch a.Plural {
			case "resourceclaims":
				return z.get(ctx, node, resourceClaims, a)
			case "resourceslices":
				return z.resourceSlice(ctx, node, a)
			}
		case certificatesv1.GroupName:
			if a.Plural == "podcertificaterequests" {
				return z.podCertificate(ctx, node, a)
			}
		}
	}
	return z.alike(a)
}

// core applies the rules of the group of core/v1.
func (z *Authorizer) core(ctx context.Context, node string, a *auth.Attributes) (decision, error) {
	switch a.Plural {
	case "secrets":
		return z.read(ctx, node, secrets, a)
	case "configmaps":
		return z.read(ctx, node, configMaps, a)
	case "persistentvolumeclaims":
		if a.Subresource != "status" {
			return z.get(ctx, node, volumeClaims, a)
		}
		if a.Verb != "update" && a.Verb != "patch" {
			return refuse("can only get/update/patch this type")
		}
		return z.relatedTo(ctx, node, volumeClaims, a)
	case "persistentvolumes":
		return z.get(ctx, node, volumes, a)
	case "serviceaccounts":
		return z.serviceAccount(ctx, node, a)
	case "nodes":
		return ownNode(node, a)
	case "pods":
		return z.pod(ctx, node, a)
	}
	return z.alike(a)
}

// alike applies the rules that are the same for all nodes.
func (z *Authorizer) alike(a *auth.Attributes) (decision, error) {
	return decision{allowed: z.rules.Allow(a)}, nil
}

// relatedTo allows requests for an object that the node is related with.
func (z *Authorizer) relatedTo(ctx context.Context, node string, k kind, a *auth.Attributes) (decision, error) {
	if a.Name == "" {
		return refuse("No Object name found")
	}
	namespace := a.Namespace
	if k == volumes || k == attachments || k == resourceSlices {
		namespace = ""
	}
	related, err := z.relations.related(ctx, node, object{k, namespace, a.Name})
	if err != nil || related {
		return decision{allowed: related}, err
	}
	return decision{reason: fmt.Sprintf("no relationship found between node '%s' and this object", node), unrelated: true}, nil
}

// get allows the verb get for related objects.
func (z *Authorizer) get(ctx context.Context, node string, k kind, a *auth.Attributes) (decision, error) {
	switch {
	case a.Verb != "get":
		return refuse("can only get individual resources of this type")
	case a.Subresource != "":
		return refuse("cannot get subresource")
	}
	return z.relatedTo(ctx, node, k, a)
}

// read allows the verbs that read for related objects in a namespace. The request names one
// object: a list or watch does by its field selector.
func (z *Authorizer) read(ctx context.Context, node string, k kind, a *auth.Attributes) (decision, error) {
	switch {
	case a.Verb != "get" && a.Verb != "list" && a.Verb != "watch":
		return refuse("can only read resources of this type")
	case a.Subresource != "":
		return refuse("cannot read subresource")
	case a.Namespace == "":
		return refuse("can only read namespaced object of this type")
	}
	return z.relatedTo(ctx, node, k, a)
}

func (z *Authorizer) serviceAccount(ctx context.Context, node string, a *auth.Attributes) (decision, error) {
	switch {
	case a.Verb == "get" && a.Subresource == "":
		return z.read(ctx, node, serviceAccounts, a)
	case a.Verb != "create" || a.Name == "":
		return refuse("can only create tokens for individual service accounts")
	case a.Subresource != "token":
		return refuse("can only create token subresource of serviceaccount")
	}
	return z.relatedTo(ctx, node, serviceAccounts, a)
}

func (z *Authorizer) resourceSlice(ctx context.Context, node string, a *auth.Attributes) (decision, error) {
	if a.Subresource != "" {
		return refuse("cannot authorize ResourceSlice subresources")
	}
	switch a.Verb {
	case "create": // NodeRestriction sees the node in it
		return allow()
	case "get", "update", "patch", "delete":
		return z.relatedTo(ctx, node, resourceSlices, a)
	case "watch", "list", "deletecollection":
		if selects(a, resourcev1.ResourceSliceSelectorNodeName, node) {
			return allow()
		}
		return refuse("can only list/watch/deletecollection resourceslices with nodeName field selector")
	}
	return refuse("only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection")
}

func (z *Authorizer) podCertificate(ctx context.Context, node string, a *auth.Attributes) (decision, error) {
	if a.Subresource != "" {
		return refuse("nodes may not access the status subresource of PodCertificateRequests")
	}
	switch a.Verb {
	case "create": // NodeRestriction sees the pod in it
		return allow()
	case "get":
		return z.relatedTo(ctx, node, podCertificates, a)
	case "list", "watch":
		if selects(a, "spec.nodeName", node) {
			return allow()
		}
		return refuse("can only list/watch podcertificaterequests with nodeName field selector")
	}
	return refuse(fmt.Sprintf("nodes may not %s podcertificaterequests", a.Verb))
}

// pod allows a node to read its pods. NodeRestriction limits what it may create, delete, evict
// and report.
func (z *Authorizer) pod(ctx context.Context, node string, a *auth.Attributes) (decision, error) {
	switch a.Subresource {
	case "":
		switch a.Verb {
		case "get":
			return z.get(ctx, node, pods, a)
		case "list", "watch":
			switch {
			case selects(a, "spec.nodeName", node):
				return allow()
			case a.Name != "":
				return z.relatedTo(ctx, node, pods, a)
			}
			return refuse("can only list/watch pods with spec.nodeName field selector")
		case "create", "delete":
			return allow()
		}
	case "status":
		return decision{allowed: a.Verb == "update" || a.Verb == "patch"}, nil
	case "eviction":
		return decision{allowed: a.Verb == "create"}, nil
	}
	return refuse("")
}

// ownNode allows a node to read its own Node, before it exists too. NodeRestriction limits what
// it may write.
func ownNode(node string, a *auth.Attributes) (decision, error) {
	write := a.Verb == "update" || a.Verb == "patch"
	switch a.Subresource {
	case "":
		switch {
		case write || a.Verb == "create":
			return allow()
		case a.Verb != "get" && a.Verb != "list" && a.Verb != "watch":
			return refuse("")
		case a.Name == node:
			return allow()
		case a.Name == "":
			return refuse(fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", node))
		}
		return refuse(fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", node, a.Name))
	case "status":
		return decision{allowed: write}, nil
	}
	return refuse("")
}

func lease(node string, a *auth.Attributes) (decision, error) {
	switch {
	case !singly(a.Verb):
		return refuse("can only get, create, update, patch, or delete a node lease")
	case a.Namespace != corev1.NamespaceNodeLease:
		return refuse(fmt.Sprintf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease))
	case a.Verb != "create" && a.Name != node: // NodeRestriction sees the name of a new one
		return refuse("can only access node lease with the same name as the requesting node")
	}
	return allow()
}

func csiNode(node string, a *auth.Attributes) (decision, error) {
	switch {
	case !singly(a.Verb):
		return refuse("can only get, create, update, patch, or delete a CSINode")
	case a.Subresource != "":
		return refuse("cannot authorize CSINode subresources")
	case a.Verb != "create" && a.Name != node: // NodeRestriction sees the name of a new one
		return refuse("can only access CSINode with the same name as the requesting node")
	}
	return allow()
}

// singly reports whether a verb concerns one object.
func singly(verb string) bool {
	switch verb {
	case "get", "create", "update", "patch", "delete":
		return true
	}
	return false
}

// selects reports whether the field selector of a request demands a value of a field.
func selects(a *auth.Attributes, field, value string) bool {
	if a.FieldSelector == "" {
		return false
	}
	selector, err := fields.ParseSelector(a.FieldSelector)
	if err != nil {
		return false
	}
	for _, r := range selector.Requirements() {
		if r.Field == field && r.Value == value && (r.Operator == selection.Equals || r.Operator == selection.DoubleEquals) {
			return true
		}
	}
	return false
}
