package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
)

const (
	podsPath        = "/api/v1/namespaces/default/pods"
	deploymentsPath = "/apis/apps/v1/namespaces/default/deployments"
	jobsPath        = "/apis/batch/v1/namespaces/default/jobs"
)

// The responses of a kube-apiserver to the same requests: code, and part of the body.
func TestAnswersAreUpstreams(t *testing.T) {
	h := start(t)
	h.mustSend("POST", mapsPath, asJSON(t, configMap("a", "k", "v")))
	h.mustSend("POST", podsPath, asJSON(t, pod("p")))
	h.mustSend("POST", deploymentsPath, asJSON(t, deployment("d", 1)))
	const apply = "application/apply-patch+yaml"
	for _, c := range []struct {
		method, path, body, kind string
		code                     int
		text                     string
	}{
		{"POST", "/api/v1", "", "", 405, `"MethodNotAllowed"`},
		{"PUT", "/api", "", "", 405, `"MethodNotAllowed"`},
		{"DELETE", "/version", "", "", 405, `"MethodNotAllowed"`},
		{"HEAD", "/apis/apps/v1", "", "", 405, ""},
		{"HEAD", podsPath + "/p/log", "", "", 405, ""},
		{"GET", "/apis/apps/v9", "", "", 404, "the server could not find the requested resource"},
		{"GET", "/api/v2", "", "", 404, "the server could not find the requested resource"},
		{"POST", podsPath + "/p/eviction?dryRun=All", `{"kind":"Eviction","apiVersion":"policy/v1beta1","metadata":{"name":"p"}}`, "", 201, `"Success"`},
		{"POST", podsPath + "/p/eviction", `{}`, "", 400, "name in URL does not match name in Eviction object"},
		{"POST", podsPath + "/p/binding", `{"target":{"name":"n"}}`, "", 400, "name in URL does not match name in Binding object"},
		{"PUT", mapsPath + "/a", `{"metadata":{"name":"a","resourceVersion":"x"}}`, "", 500, `strconv.ParseUint: parsing \"x\": invalid syntax`},
		{"PUT", mapsPath + "/a", `{"metadata":{"name":"a","namespace":"b"}}`, "", 400, "the namespace of the provided object does not match the namespace sent on the request"},
		{"POST", mapsPath, `{"metadata":{"name":"b","finalizers":["x"]}}`, "", 422, "metadata.finalizers[0]: Invalid value: \\\"x\\\": name is neither a standard finalizer name nor is it fully qualified"},
		{"POST", mapsPath + "?dryRun=All", `{"metadata":{"name":"b","finalizers":["x.io/y","kubernetes"]}}`, "", 201, ""},
		{"POST", mapsPath, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"}}`, "", 400, "converting (v1.Pod) to (core.ConfigMap): unknown conversion"},
		{"DELETE", mapsPath + "/a", "{", "", 400, "couldn't get version/kind; json parse error: unexpected end of JSON input"},
		{"DELETE", mapsPath + "/a", "{", "application/vnd.kubernetes.protobuf", 400, "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"},
		{"PATCH", deploymentsPath + "/d?fieldManager=m", "{{{", apply, 400, "error decoding patch: error converting YAML to JSON: yaml: line 1: did not find expected node content"},
		{"PATCH", deploymentsPath + "/d", `{"spec":{"template":{"spec":{"containers":[{"image":"j"}]}}}}`, "application/strategic-merge-patch+json", 500, "does not contain declared merge key: name"},
		{"GET", mapsPath + "?fieldSelector=x%3Dy", "", "", 400, `\"x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"`},
		{"GET", jobsPath + "?fieldSelector=x%3Dy", "", "", 400, `field label \"x\" not supported for Job`},
		{"GET", "/api/v1/namespaces/default/services/none/proxy/", "", "", 503, `no endpoints available for service \"none\"`},
		{"POST", "/api/v1/namespaces/default/services?dryRun=All", `{"metadata":{"name":"s"},"spec":{"externalIPs":["1.2.3.4"],"ports":[{"port":80}]}}`, "", 201, `"externalTrafficPolicy":"Cluster"`},
		{"POST", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", `{"metadata":{"name":"n"},"spec":{"podSelector":{},"ingress":[{"from":[{"ipBlock":{"cidr":"10.1.2.3/8"}}]}]}}`, "", 422, "must not have bits set beyond the prefix length"},
	} {
		var headers []string
		if c.kind != "" {
			headers = []string{"Content-Type", c.kind}
		}
		r := h.send(c.method, c.path, c.body, headers...)
		if body := strings.ReplaceAll(string(r.body), "\n", ""); r.code != c.code || !strings.Contains(strings.ReplaceAll(body, `": "`, `":"`), c.text) {
			t.Errorf("%s %s %s: %d %s\nwant %d %s", c.method, c.path, c.body, r.code, body, c.code, c.text)
		}
	}
}

// An object that is deleted immediately is shown as being deleted, a collection as it
// was.
func TestDeletedObjectsShown(t *testing.T) {
	h := start(t)
	h.mustSend("POST", podsPath, asJSON(t, pod("p")))
	var collection corev1.PodList
	h.mustSend("DELETE", podsPath+"?dryRun=All", "").into(t, &collection)
	if len(collection.Items) != 1 || collection.Items[0].DeletionTimestamp != nil || collection.Items[0].DeletionGracePeriodSeconds != nil {
		t.Errorf("the collection: %+v", collection.Items)
	}
	var gone corev1.Pod
	h.mustSend("DELETE", podsPath+"/p?gracePeriodSeconds=0", "").into(t, &gone)
	if gone.DeletionTimestamp == nil || gone.DeletionGracePeriodSeconds == nil || *gone.DeletionGracePeriodSeconds != 0 || gone.Generation != 2 {
		t.Errorf("the pod: %+v", gone.ObjectMeta)
	}
}

// Deleting a collection at a version deletes the objects that existed then.
func TestDeleteCollectionAtVersion(t *testing.T) {
	h := start(t)
	var a corev1.ConfigMap
	h.mustSend("POST", mapsPath, asJSON(t, configMap("a", "k", "v"))).into(t, &a)
	h.mustSend("POST", mapsPath, asJSON(t, configMap("b", "k", "v")))
	h.mustSend("DELETE", mapsPath+"?resourceVersion="+a.ResourceVersion, "")
	var left corev1.ConfigMapList
	h.mustSend("GET", mapsPath, "").into(t, &left)
	if len(left.Items) != 1 || left.Items[0].Name != "b" {
		t.Errorf("left: %+v", left.Items)
	}
}

// Warnings are sent for creates and for changes of the fields that they concern, not for
// other changes.
func TestWarningsOfWorkloads(t *testing.T) {
	h := start(t)
	warned := func(method, path, body, kind string) []string {
		t.Helper()
		r := h.mustSend(method, path, body, "Content-Type", kind)
		return r.header["Warning"]
	}
	old := deployment("d", 1)
	old.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux", "beta.kubernetes.io/os": "linux"}
	const merge = "application/merge-patch+json"
	want := `299 - "spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead"`
	for _, step := range []struct {
		method, path, body, kind string
		warns                    bool
	}{
		{"POST", deploymentsPath, asJSON(t, old), "application/json", true},
		{"PATCH", deploymentsPath + "/d", `{"metadata":{"labels":{"x":"y"}}}`, merge, false},
		{"PATCH", deploymentsPath + "/d/status", `{"status":{"observedGeneration":1}}`, merge, false},
		{"PATCH", deploymentsPath + "/d", `{"spec":{"minReadySeconds":1}}`, merge, true},
	} {
		got := warned(step.method, step.path, step.body, step.kind)
		if step.warns != (len(got) == 1 && got[0] == want) || !step.warns && len(got) > 0 {
			t.Errorf("%s %s: %q", step.method, step.path, got)
		}
	}
	h.mustSend("POST", jobsPath, asJSON(t, job("j")))
	if got := warned("DELETE", jobsPath+"/j?dryRun=All", "", "application/json"); len(got) != 1 || !strings.Contains(got[0], "child pods are preserved by default when jobs are deleted") {
		t.Errorf("deleting a Job: %q", got)
	}
	if got := warned("DELETE", jobsPath+"/j?dryRun=All&propagationPolicy=Background", "", "application/json"); len(got) > 0 {
		t.Errorf("deleting a Job and its pods: %q", got)
	}
}

// The total length of warnings is limited; beyond it, the beginning of each is sent.
func TestWarningsAreBounded(t *testing.T) {
	h := start(t)
	p := pod("p")
	for range 200 {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: strings.Repeat("s", 200)})
	}
	r := h.mustSend("POST", podsPath, asJSON(t, p))
	total := 0
	for _, text := range r.header["Warning"] {
		total += len(text)
		if len(text) > 300 {
			t.Errorf("too long: %s", text)
		}
	}
	if total < 3000 || total > 6000 {
		t.Errorf("%d bytes of warnings", total)
	}
}

func job(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
			Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "example.com/c"}}},
		}},
	}
}

// A Job without labels gets its template's labels, including the generated ones.
func TestJobLabels(t *testing.T) {
	h := start(t)
	create := func(j *batchv1.Job) *batchv1.Job {
		t.Helper()
		made := &batchv1.Job{}
		h.mustSend("POST", jobsPath, asJSON(t, j)).into(t, made)
		return made
	}
	if made := create(job("j")); made.Labels["app"] != "j" || made.Labels[batchv1.JobNameLabel] != "j" || made.Labels[batchv1.ControllerUidLabel] != string(made.UID) {
		t.Errorf("labels: %v", made.Labels)
	}
	bare := job("k")
	bare.Spec.Template.Labels = nil
	if made := create(bare); made.Labels[batchv1.JobNameLabel] != "k" {
		t.Errorf("labels: %v", made.Labels)
	}
	named := job("l")
	named.Labels = map[string]string{"mine": "yes"}
	if made := create(named); len(made.Labels) != 1 {
		t.Errorf("labels: %v", made.Labels)
	}
}

func TestLimitRangeWithoutName(t *testing.T) {
	h := start(t)
	var made corev1.LimitRange
	h.mustSend("POST", "/api/v1/namespaces/default/limitranges", `{"spec":{"limits":[]}}`).into(t, &made)
	if made.Name == "" || made.Name != string(made.UID) {
		t.Fatalf("name %q, UID %q", made.Name, made.UID)
	}
	h.mustSend("GET", "/api/v1/namespaces/default/limitranges/"+made.Name, "")
}

// Claim templates show their kind, also when read from the store, which does not keep
// it.
func TestClaimTemplatesHaveKind(t *testing.T) {
	h := start(t)
	const path = "/apis/apps/v1/namespaces/default/statefulsets"
	manifest, err := yaml.YAMLToJSON([]byte(`
metadata: {name: s}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
  volumeClaimTemplates: [{metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	var made appsv1.StatefulSet
	h.mustSend("POST", path, string(manifest)).into(t, &made)
	for _, query := range []string{"", "?resourceVersion=0", "?resourceVersion=" + made.ResourceVersion} {
		var read appsv1.StatefulSet
		h.mustSend("GET", path+"/s"+query, "").into(t, &read)
		if got := read.Spec.VolumeClaimTemplates[0].TypeMeta; got != (metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}) {
			t.Errorf("%q: %+v", query, got)
		}
	}
	var list appsv1.StatefulSetList
	h.mustSend("GET", path+"?resourceVersionMatch=Exact&resourceVersion="+made.ResourceVersion, "").into(t, &list)
	if list.Items[0].Spec.VolumeClaimTemplates[0].Kind == "" {
		t.Error("listed without its kind")
	}
}

// The entry for a scaled number of replicas has no time; fields of a signing request
// that cannot change have no owner.
func TestOwnersWithoutTimeOrFields(t *testing.T) {
	h := start(t)
	h.mustSend("POST", deploymentsPath, asJSON(t, deployment("d", 1)))
	h.mustSend("PUT", deploymentsPath+"/d/scale?fieldManager=scaler", `{"metadata":{"name":"d"},"spec":{"replicas":3}}`)
	var d appsv1.Deployment
	h.mustSend("GET", deploymentsPath+"/d", "").into(t, &d)
	if first := d.ManagedFields[0]; first.Manager != "scaler" || first.Time != nil || first.Subresource != "scale" {
		t.Errorf("%+v", d.ManagedFields)
	}
	request, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"name": "r"},
		"spec":     map[string]any{"signerName": "example.com/s", "usages": []string{"client auth"}, "request": signingRequest(t)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var made metav1.PartialObjectMetadata
	h.mustSend("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", string(request)).into(t, &made)
	if len(made.ManagedFields) > 0 {
		t.Errorf("a signing request's: %+v", made.ManagedFields)
	}
}

// A watch from a version that does not exist when its timeout ends reports that.
func TestWatchTooEarly(t *testing.T) {
	h := start(t, func(o *apiserver.Options) { o.Clock = clock.Scaled(10) })
	h.mustSend("GET", mapsPath+"?resourceVersion=0", "") // starts the cache
	r := h.send("GET", mapsPath+"?watch=1&timeoutSeconds=1&resourceVersion=100000&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "")
	if text := string(r.body); r.code != http.StatusOK || !strings.Contains(text, "Too large resource version") {
		t.Errorf("%d %s", r.code, text)
	}
}

func signingRequest(t *testing.T) []byte {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := must(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
