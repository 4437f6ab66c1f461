package admission

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/internal/auth"
)

// nodeRules returns the plugin in a cluster with the nodes n1 and n2, the pod mine on n1, with
// volumes that want tokens, and the pod other on n2.
func nodeRules() NodeRestriction {
	mine := &corev1.Pod{ObjectMeta: named("mine"), Spec: corev1.PodSpec{NodeName: "n1", ServiceAccountName: "account", Volumes: []corev1.Volume{
		{Name: "t", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "vault"}}}}}},
		{Name: "c", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "inline"}}},
		{Name: "p", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
	}}}
	other := &corev1.Pod{ObjectMeta: named("other"), Spec: corev1.PodSpec{NodeName: "n2", ServiceAccountName: "account"}}
	mirror := &corev1.Pod{ObjectMeta: named("mirror"), Spec: corev1.PodSpec{NodeName: "n1"}}
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	return NodeRestriction{
		Authorizer: auth.AlwaysDeny{}, OwnAudiences: func() []string { return []string{"api"} },
		Node: func(_ context.Context, name string) (*corev1.Node, error) { return found(name, node("n1"), node("n2")) },
		Pod:  func(_ context.Context, _, name string) (*corev1.Pod, error) { return found(name, mine, other, mirror) },
		Account: func(_ context.Context, _, name string) (*corev1.ServiceAccount, error) {
			return found(name, &corev1.ServiceAccount{ObjectMeta: named("account")})
		},
		Claim: func(_ context.Context, _, name string) (*corev1.PersistentVolumeClaim, error) {
			return found(name, &corev1.PersistentVolumeClaim{ObjectMeta: named("claim"), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "volume"}})
		},
		Volume: func(_ context.Context, name string) (*corev1.PersistentVolume, error) {
			return found(name, &corev1.PersistentVolume{ObjectMeta: named("volume"), Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "mounted"}}}})
		},
		Driver: func(_ context.Context, name string) (*storagev1.CSIDriver, error) {
			return found(name, driver("inline", "disk"), driver("mounted", "cloud"))
		},
	}
}

// named returns the metadata of an object whose UID follows from its name.
func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-of-" + name)}
}

func driver(name, audience string) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: named(name), Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: audience}}}}
}

func node(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: named(name)}
	n.Labels = map[string]string{corev1.LabelHostname: name}
	for _, f := range change {
		f(n)
	}
	return n
}

func found[T metav1.Object](name string, all ...T) (T, error) {
	var none T
	for _, o := range all {
		if o.GetName() == name {
			return o, nil
		}
	}
	return none, apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, name)
}

// nodeWrite is a write by a node.
type nodeWrite struct {
	operation   Operation
	kind        schema.GroupVersionKind
	sub         string
	name        string
	namespace   string
	object, old runtime.Object
}

func (w *nodeWrite) attributes(t *testing.T, user *auth.User) *Attributes {
	t.Helper()
	row := resources.Builtin().ByKind(w.kind)
	if row == nil {
		t.Fatalf("no row for %v", w.kind)
	}
	namespace := w.namespace
	if namespace == "" && row.Namespaced {
		namespace = "default"
	}
	return &Attributes{Operation: w.operation, Resource: row, Subresource: w.sub, Name: w.name, Namespace: namespace, User: user, Object: w.object, Old: w.old}
}

var (
	podKind     = corev1.SchemeGroupVersion.WithKind("Pod")
	nodeKind    = corev1.SchemeGroupVersion.WithKind("Node")
	accountKind = corev1.SchemeGroupVersion.WithKind("ServiceAccount")
	claimKind   = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
	leaseKind   = coordinationv1.SchemeGroupVersion.WithKind("Lease")
	sliceKind   = resourcev1.SchemeGroupVersion.WithKind("ResourceSlice")
	csiNodeKind = storagev1.SchemeGroupVersion.WithKind("CSINode")
	signingKind = certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest")
)

// checkNodeWrites compares what the plugin answers to writes of the node n1 with texts; an empty
// one allows the write.
func checkNodeWrites(t *testing.T, rows map[string]struct {
	write nodeWrite
	want  string
},
) {
	t.Helper()
	plugin := nodeRules()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			a := row.write.attributes(t, auth.Node("n1"))
			err := plugin.Mutate(t.Context(), a)
			if err == nil {
				err = plugin.Check(t.Context(), a)
			}
			got := text(err)
			if _, reason, ok := strings.Cut(got, " is forbidden: "); ok {
				got = reason
			}
			if got != row.want {
				t.Errorf("got  %q\nwant %q", got, row.want)
			}
			other := row.write.attributes(t, &auth.User{Name: "jane", Groups: []string{"system:nodes"}})
			if err := plugin.Mutate(t.Context(), other); err != nil {
				t.Errorf("another user: %v", err)
			}
		})
	}
}

type nodeRows = map[string]struct {
	write nodeWrite
	want  string
}

func TestNodeRestrictionOfNodes(t *testing.T) {
	update := func(change func(*corev1.Node)) nodeWrite {
		return nodeWrite{operation: Update, kind: nodeKind, name: "n1", object: node("n1", change), old: node("n1")}
	}
	labels := func(pairs ...string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			for i := 0; i < len(pairs); i += 2 {
				n.Labels[pairs[i]] = pairs[i+1]
			}
		}
	}
	checkNodeWrites(t, nodeRows{
		"its own":                {nodeWrite{operation: Create, kind: nodeKind, object: node("n1")}, ""},
		"another":                {nodeWrite{operation: Create, kind: nodeKind, object: node("n2")}, `node "n1" is not allowed to modify node "n2"`},
		"with a config source":   {nodeWrite{operation: Create, kind: nodeKind, object: node("n1", func(n *corev1.Node) { n.Spec.ConfigSource = &corev1.NodeConfigSource{} })}, `node "n1" is not allowed to create pods with a non-nil configSource`},
		"with labels":            {nodeWrite{operation: Create, kind: nodeKind, object: node("n1", labels("x.node-restriction.kubernetes.io/a", "", "node-role.kubernetes.io/b", "", "topology.kubernetes.io/zone", "z", "a.example.com/c", ""))}, `node "n1" is not allowed to set the following labels: node-role.kubernetes.io/b, x.node-restriction.kubernetes.io/a`},
		"with taints":            {nodeWrite{operation: Create, kind: nodeKind, object: node("n1", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a"}} })}, ""},
		"a status":               {nodeWrite{operation: Update, kind: nodeKind, sub: "status", name: "n1", object: node("n1"), old: node("n1")}, ""},
		"another's status":       {nodeWrite{operation: Update, kind: nodeKind, sub: "status", name: "n2", object: node("n2"), old: node("n2")}, `node "n1" is not allowed to modify node "n2"`},
		"taints":                 {update(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a"}} }), `node "n1" is not allowed to modify taints`},
		"owners":                 {update(func(n *corev1.Node) { n.OwnerReferences = []metav1.OwnerReference{{Name: "a"}} }), `node "n1" is not allowed to modify ownerReferences`},
		"a config source":        {update(func(n *corev1.Node) { n.Spec.ConfigSource = &corev1.NodeConfigSource{} }), `node "n1" is not allowed to update configSource to a new non-nil configSource`},
		"labels of the kubelet":  {update(labels("kubelet.kubernetes.io/a", "", "x.node.kubernetes.io/b", "", "kubernetes.io/os", "linux", "plain", "")), ""},
		"restricted labels":      {update(labels("node-restriction.kubernetes.io/a", "", "k8s.io/b", "")), "is not allowed to modify labels: k8s.io/b, node-restriction.kubernetes.io/a"},
		"a label removed":        {nodeWrite{operation: Update, kind: nodeKind, name: "n1", object: node("n1"), old: node("n1", labels("node-role.kubernetes.io/a", ""))}, "is not allowed to modify labels: node-role.kubernetes.io/a"},
		"a label that stays":     {nodeWrite{operation: Update, kind: nodeKind, name: "n1", object: node("n1", labels("k8s.io/a", "")), old: node("n1", labels("k8s.io/a", ""))}, ""},
		"the deletion of itself": {nodeWrite{operation: Delete, kind: nodeKind, name: "n1", old: node("n1")}, ""},
		"another's deletion":     {nodeWrite{operation: Delete, kind: nodeKind, name: "n2", old: node("n2")}, `node "n1" is not allowed to modify node "n2"`},
	})
}

// mirrorOf returns a mirror pod of n1.
func mirrorOf(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "m", Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"}}, Spec: corev1.PodSpec{NodeName: "n1"}}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: node("n1").UID, Controller: ptr.To(true)}}
	change(p)
	return p
}

func TestNodeRestrictionOfMirrorPods(t *testing.T) {
	create := func(change func(*corev1.Pod)) nodeWrite {
		return nodeWrite{operation: Create, kind: podKind, object: mirrorOf(change)}
	}
	owner := func(change func(*metav1.OwnerReference)) nodeWrite {
		return create(func(p *corev1.Pod) { change(&p.OwnerReferences[0]) })
	}
	const notItself = `node "n1" can only create pods with an owner reference set to itself`
	checkNodeWrites(t, nodeRows{
		"a mirror pod":           {create(func(*corev1.Pod) {}), ""},
		"a pod":                  {create(func(p *corev1.Pod) { p.Annotations = nil }), `pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods`},
		"elsewhere":              {create(func(p *corev1.Pod) { p.Spec.NodeName = "n2" }), `node "n1" can only create pods with spec.nodeName set to itself`},
		"unbound":                {create(func(p *corev1.Pod) { p.Spec.NodeName = "" }), `node "n1" can only create pods with spec.nodeName set to itself`},
		"without an owner":       {create(func(p *corev1.Pod) { p.OwnerReferences = nil }), notItself},
		"with two owners":        {create(func(p *corev1.Pod) { p.OwnerReferences = append(p.OwnerReferences, p.OwnerReferences[0]) }), `node "n1" can only create pods with a single owner reference set to itself`},
		"of another node":        {owner(func(r *metav1.OwnerReference) { r.Name = "n2" }), notItself},
		"of another kind":        {owner(func(r *metav1.OwnerReference) { r.Kind = "Pod" }), notItself},
		"of another version":     {owner(func(r *metav1.OwnerReference) { r.APIVersion = "v2" }), notItself},
		"without a controller":   {owner(func(r *metav1.OwnerReference) { r.Controller = nil }), `node "n1" can only create pods with a controller owner reference set to itself`},
		"blocking the deletion":  {owner(func(r *metav1.OwnerReference) { r.BlockOwnerDeletion = ptr.To(true) }), `node "n1" must not set blockOwnerDeletion on an owner reference`},
		"of a former node":       {owner(func(r *metav1.OwnerReference) { r.UID = "z" }), "node n1 UID mismatch: expected z got uid-of-n1"},
		"with a service account": {create(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "a" }), `node "n1" can not create pods that reference serviceaccounts`},
		"with a Secret":          {create(func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}} }), `node "n1" can not create pods that reference secrets`},
		"with a strange volume":  {create(func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: "v"}} }), `error checking mirror pod for API references: unknown volume type for volume  "v"`},
	})
}

func TestNodeRestrictionOfPods(t *testing.T) {
	bound := func(name, node string, change ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: named(name), Spec: corev1.PodSpec{NodeName: node}}
		for _, f := range change {
			f(p)
		}
		return p
	}
	status := func(node string, change func(*corev1.Pod)) nodeWrite {
		return nodeWrite{operation: Update, kind: podKind, sub: "status", name: "mine", object: bound("mine", node, change), old: bound("mine", node)}
	}
	evict := func(name string) nodeWrite {
		return nodeWrite{operation: Create, kind: podKind, sub: "eviction", name: name, object: &policyv1.Eviction{}}
	}
	checkNodeWrites(t, nodeRows{
		"a deletion":             {nodeWrite{operation: Delete, kind: podKind, name: "mine", old: bound("mine", "n1")}, ""},
		"a deletion elsewhere":   {nodeWrite{operation: Delete, kind: podKind, name: "other", old: bound("other", "n2")}, `node "n1" can only delete pods with spec.nodeName set to itself`},
		"a deletion, looked up":  {nodeWrite{operation: Delete, kind: podKind, name: "other"}, `node "n1" can only delete pods with spec.nodeName set to itself`},
		"an update":              {nodeWrite{operation: Update, kind: podKind, name: "mine", object: bound("mine", "n1"), old: bound("mine", "n1")}, `unexpected operation "UPDATE", node "n1" can only create and delete mirror pods`},
		"an eviction":            {evict("mine"), ""},
		"an eviction elsewhere":  {evict("other"), "node n1 can only evict pods with spec.nodeName set to itself"},
		"an eviction of nothing": {evict("gone"), `things "gone" not found`},
		"a binding":              {nodeWrite{operation: Create, kind: podKind, sub: "binding", name: "mine", object: &corev1.Binding{}}, `unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`},
		"a resize":               {nodeWrite{operation: Update, kind: podKind, sub: "resize", name: "mine", object: bound("mine", "n1"), old: bound("mine", "n1")}, `unexpected pod subresource "resize", only 'status' and 'eviction' are allowed`},
		"a status":               {status("n1", func(p *corev1.Pod) { p.Status.Message = "a" }), ""},
		"a status elsewhere":     {status("n2", func(p *corev1.Pod) { p.Status.Message = "a" }), `node "n1" can only update pod status for pods with spec.nodeName set to itself`},
		"labels by the status":   {status("n1", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }), `node "n1" cannot update labels through pod status`},
		"claims by the status": {status("n1", func(p *corev1.Pod) {
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "a"}}
		}), `node "n1" cannot update resource claim statues`},
		"extended claims by the status": {status("n1", func(p *corev1.Pod) {
			p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "a"}
		}), `node "n1" cannot update extended resource claim status`},
	})
}

func TestNodeRestrictionOfTokens(t *testing.T) {
	token := func(pod string, audiences ...string) nodeWrite {
		return nodeWrite{operation: Create, kind: accountKind, sub: "token", name: "account", object: &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			Audiences: audiences, BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod, UID: named(pod).UID},
		}}}
	}
	changed := func(change func(*authenticationv1.TokenRequestSpec)) nodeWrite {
		w := token("mine", "vault")
		change(&w.object.(*authenticationv1.TokenRequest).Spec)
		return w
	}
	const unbound = "node requested token not bound to a pod"
	refused := func(audience string) string {
		return `audience "` + audience + `" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience`
	}
	checkNodeWrites(t, nodeRows{
		"of a projected volume":      {token("mine", "vault"), ""},
		"of an inline driver":        {token("mine", "disk"), ""},
		"of the driver of a volume":  {token("mine", "cloud"), ""},
		"another audience":           {token("mine", "bank"), refused("bank")},
		"the server's own audience":  {token("mine", "api"), refused("")},
		"two audiences":              {token("mine", "vault", "disk"), "node may only request 0 or 1 audiences"},
		"of a pod elsewhere":         {token("other", "vault"), "node requested token bound to a pod scheduled on a different node"},
		"of no pod":                  {token("gone", "vault"), `things "gone" not found`},
		"unbound":                    {changed(func(s *authenticationv1.TokenRequestSpec) { s.BoundObjectRef = nil }), unbound},
		"bound to a Secret":          {changed(func(s *authenticationv1.TokenRequestSpec) { s.BoundObjectRef.Kind = "Secret" }), unbound},
		"without a UID":              {changed(func(s *authenticationv1.TokenRequestSpec) { s.BoundObjectRef.UID = "" }), "node requested token with a pod binding without a uid"},
		"of a former pod":            {changed(func(s *authenticationv1.TokenRequestSpec) { s.BoundObjectRef.UID = "z" }), "the UID in the bound object reference (z) does not match the UID in record. The object might have been deleted and then recreated"},
		"a service account's update": {nodeWrite{operation: Update, kind: accountKind, name: "account", object: &corev1.ServiceAccount{}}, ""},
	})
}

func TestNodeRestrictionOfOthers(t *testing.T) {
	claim := func(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: named("claim")}
		change(c)
		return c
	}
	lease := func(operation Operation, namespace, name string) nodeWrite {
		return nodeWrite{operation: operation, kind: leaseKind, namespace: namespace, name: name, object: &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	}
	slice := func(node string) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{ObjectMeta: named("s"), Spec: resourcev1.ResourceSliceSpec{NodeName: &node}}
	}
	csr := func(signer, commonName string) nodeWrite {
		return nodeWrite{operation: Create, kind: signingKind, object: &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: signer, Request: requestFor(t, commonName)}}}
	}
	const otherLease, otherSlice = "can only access node lease with the same name as the requesting node", "ResourceSlice with the same NodeName as the requesting node"
	checkNodeWrites(t, nodeRows{
		"a lease":               {lease(Create, "kube-node-lease", "n1"), ""},
		"another's lease":       {lease(Update, "kube-node-lease", "n2"), otherLease},
		"a lease elsewhere":     {lease(Create, "default", "n1"), `can only access leases in the "kube-node-lease" system namespace`},
		"a slice":               {nodeWrite{operation: Create, kind: sliceKind, object: slice("n1")}, ""},
		"another's slice":       {nodeWrite{operation: Create, kind: sliceKind, object: slice("n2")}, "can only create " + otherSlice},
		"a slice of all nodes":  {nodeWrite{operation: Create, kind: sliceKind, object: &resourcev1.ResourceSlice{}}, "can only create " + otherSlice},
		"the end of a slice":    {nodeWrite{operation: Delete, kind: sliceKind, name: "s", old: slice("n1")}, ""},
		"another's slice's end": {nodeWrite{operation: Delete, kind: sliceKind, name: "s", old: slice("n2")}, "can only delete " + otherSlice},
		"a CSINode":             {nodeWrite{operation: Create, kind: csiNodeKind, object: &storagev1.CSINode{ObjectMeta: named("n1")}}, ""},
		"another's CSINode":     {nodeWrite{operation: Update, kind: csiNodeKind, name: "n2", object: &storagev1.CSINode{ObjectMeta: named("n2")}}, "can only access CSINode with the same name as the requesting node"},
		"a claim":               {nodeWrite{operation: Update, kind: claimKind, name: "claim", object: claim(func(*corev1.PersistentVolumeClaim) {})}, "may only update PVC status"},
		"a claim's capacity": {nodeWrite{operation: Update, kind: claimKind, sub: "status", name: "claim", old: claim(func(*corev1.PersistentVolumeClaim) {}), object: claim(func(c *corev1.PersistentVolumeClaim) {
			c.Status.Capacity = corev1.ResourceList{"storage": resource.MustParse("1Gi")}
		})}, ""},
		"a certificate":         {csr(certificatesv1.KubeletServingSignerName, "system:node:n1"), ""},
		"another's certificate": {csr(certificatesv1.KubeAPIServerClientKubeletSignerName, "system:node:n2"), "can only create a node CSR with CN=system:node:n1"},
		"a user's certificate":  {csr(certificatesv1.KubeAPIServerClientSignerName, "jane"), ""},
		"no certificate's request": {nodeWrite{operation: Create, kind: signingKind, object: &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Request: []byte("rubbish"),
		}}}, "unable to parse csr: PEM block type must be CERTIFICATE REQUEST"},
	})
	phase := nodeWrite{operation: Update, kind: claimKind, sub: "status", name: "claim", old: claim(func(*corev1.PersistentVolumeClaim) {}), object: claim(func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost })}
	if err := nodeRules().Mutate(t.Context(), phase.attributes(t, auth.Node("n1"))); err == nil || !strings.Contains(err.Error(), `node "n1" is not allowed to update fields other than status.quantity and status.conditions`) {
		t.Errorf("a claim's phase: %v", err)
	}
	anonymous := nodeWrite{operation: Create, kind: nodeKind, object: node("n1")}
	if err := nodeRules().Mutate(t.Context(), anonymous.attributes(t, auth.Node(""))); err == nil || !strings.Contains(err.Error(), `could not determine node from user "system:node:"`) {
		t.Errorf("a node without a name: %v", err)
	}
}

// requestFor returns a request for a certificate with a common name.
func requestFor(t *testing.T, commonName string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: commonName}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
