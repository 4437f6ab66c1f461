package apiserver_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/writerecord"
)

const staleMessage = "the object has been modified; please apply your changes to the latest version and try again"

// An update made from an old object is rejected, in every order of concurrent updates.
func TestOptimisticConcurrency(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		maps := h.client(cfg).CoreV1().ConfigMaps("default")
		first := must(maps.Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
		second := first.DeepCopy()
		first.Data = map[string]string{"by": "first"}
		must(maps.Update(h.ctx, first, metav1.UpdateOptions{}))(t)
		second.Data = map[string]string{"by": "second"}
		_, err := maps.Update(h.ctx, second, metav1.UpdateOptions{})
		wantStatus(t, err, 409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on configmaps "a": `+staleMessage)
		second.ResourceVersion = ""
		must(maps.Update(h.ctx, second, metav1.UpdateOptions{}))(t)
		if got := must(maps.Get(h.ctx, "a", metav1.GetOptions{}))(t); got.Data["by"] != "second" {
			t.Fatalf("an unconditional update: %v", got.Data)
		}
		second.UID = "another"
		_, err = maps.Update(h.ctx, second, metav1.UpdateOptions{})
		wantStatus(t, err, 409, metav1.StatusReasonConflict, "Precondition failed: UID in precondition: another, UID in object meta: "+string(first.UID))
	})
}

// Many clients increment a counter in one object, and no increment is lost.
func TestConcurrentUpdates(t *testing.T) {
	h := start(t)
	must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a", "n", "0"), metav1.CreateOptions{}))(t)
	const clients, each = 8, 25
	var running sync.WaitGroup
	for range clients {
		maps := h.client().CoreV1().ConfigMaps("default")
		running.Go(func() {
			for done := 0; done < each; {
				cm, err := maps.Get(h.ctx, "a", metav1.GetOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				n, _ := strconv.Atoi(cm.Data["n"])
				cm.Data["n"] = strconv.Itoa(n + 1)
				switch _, err = maps.Update(h.ctx, cm, metav1.UpdateOptions{}); {
				case err == nil:
					done++
				case !apierrors.IsConflict(err):
					t.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	if cm := must(h.client().CoreV1().ConfigMaps("default").Get(h.ctx, "a", metav1.GetOptions{}))(t); cm.Data["n"] != strconv.Itoa(clients*each) {
		t.Fatalf("%s updates were stored, %d succeeded", cm.Data["n"], clients*each)
	}
}

// An update that changes nothing creates no revision and no event.
func TestUpdateWithoutChange(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		maps := h.client(cfg).CoreV1().ConfigMaps("default")
		made := must(maps.Create(h.ctx, configMap("a", "k", "v"), metav1.CreateOptions{}))(t)
		same := must(maps.Update(h.ctx, made, metav1.UpdateOptions{}))(t)
		if same.ResourceVersion != made.ResourceVersion {
			t.Fatalf("from %s to %s", made.ResourceVersion, same.ResourceVersion)
		}
		if writes := writesOf(h, "a"); len(writes) != 1 {
			t.Fatalf("recorded: %+v", writes)
		}
	})
}

// The server's own metadata is kept, whatever a client sends. A ConfigMap has the generation
// that its creator set.
func TestSystemMetadataIsKept(t *testing.T) {
	h := start(t)
	maps := h.client().CoreV1().ConfigMaps("default")
	cm := configMap("a")
	now := metav1.Unix(2, 0)
	seconds := int64(5)
	cm.UID, cm.CreationTimestamp, cm.DeletionTimestamp, cm.DeletionGracePeriodSeconds, cm.SelfLink, cm.Generation = "mine", metav1.Unix(1, 0), &now, &seconds, "/x", 7
	made := must(maps.Create(h.ctx, cm, metav1.CreateOptions{}))(t)
	if made.UID == "mine" || made.CreationTimestamp.Unix() == 1 || made.DeletionTimestamp != nil || made.DeletionGracePeriodSeconds != nil || made.SelfLink != "" {
		t.Fatalf("created: %+v", made.ObjectMeta)
	}
	bare := configMap("a", "k", "v")
	bare.ResourceVersion = made.ResourceVersion
	changed := must(maps.Update(h.ctx, bare, metav1.UpdateOptions{}))(t)
	if changed.UID != made.UID || !changed.CreationTimestamp.Equal(&made.CreationTimestamp) {
		t.Fatalf("updated: %+v", changed.ObjectMeta)
	}
	changed.CreationTimestamp = metav1.Unix(1, 0)
	if changed = must(maps.Update(h.ctx, changed, metav1.UpdateOptions{}))(t); !changed.CreationTimestamp.Equal(&made.CreationTimestamp) {
		t.Fatalf("updated: %+v", changed.ObjectMeta)
	}
	again := configMap("b")
	again.ResourceVersion = made.ResourceVersion
	if _, err := maps.Create(h.ctx, again, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "resourceVersion should not be set on objects to be created") {
		t.Fatalf("created with a resourceVersion: %v", err)
	}
}

// Some kinds can be created by a PUT, others cannot.
func TestCreateByUpdate(t *testing.T) {
	h := start(t)
	client := h.client()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l", Namespace: "default"}}
	made := must(client.CoordinationV1().Leases("default").Update(h.ctx, lease, metav1.UpdateOptions{}))(t)
	if made.UID == "" || made.ResourceVersion == "" {
		t.Fatalf("created by update: %+v", made)
	}
	r := h.send("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/other", `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"other"}}`)
	if r.code != 201 {
		t.Fatalf("%d %s", r.code, r.body)
	}
	_, err := client.CoreV1().ConfigMaps("default").Update(h.ctx, configMap("none"), metav1.UpdateOptions{})
	wantStatus(t, err, 404, metav1.StatusReasonNotFound, `configmaps "none" not found`)
}

// The generation counts changes of the desired state, and nothing else.
func TestGeneration(t *testing.T) {
	h := start(t)
	deployments := h.client().AppsV1().Deployments("default")
	d := must(deployments.Create(h.ctx, deployment("d", 1), metav1.CreateOptions{}))(t)
	if d.Generation != 1 {
		t.Fatalf("a new object's generation is %d", d.Generation)
	}
	d.Labels = map[string]string{"l": "1"}
	if d = must(deployments.Update(h.ctx, d, metav1.UpdateOptions{}))(t); d.Generation != 1 {
		t.Fatalf("after a change of metadata: %d", d.Generation)
	}
	d.Status.Replicas = 3
	if d = must(deployments.UpdateStatus(h.ctx, d, metav1.UpdateOptions{}))(t); d.Generation != 1 || d.Status.Replicas != 3 {
		t.Fatalf("after a change of status: %d", d.Generation)
	}
	two := int32(2)
	d.Spec.Replicas = &two
	d.Generation = 99
	if d = must(deployments.Update(h.ctx, d, metav1.UpdateOptions{}))(t); d.Generation != 2 {
		t.Fatalf("after a change of spec: %d", d.Generation)
	}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}},
			},
		},
	}
}

// writesOf returns the recorded writes of objects with that name.
func writesOf(h *harness, name string) []writerecord.Write {
	return h.server.Writes().Writes(func(w *writerecord.Write) bool { return w.Name == name })
}

// Every write is recorded with its user and causes; failed writes and dry runs are not
// recorded.
func TestWritesAreRecorded(t *testing.T) {
	h := start(t)
	const path = "/api/v1/namespaces/default/configmaps"
	body := asJSON(t, configMap("a"))
	why := []string{cause.Header, "3,4", "User-Agent", "some-controller/v1"}
	h.mustSend("POST", path, body, why...)
	h.mustSend("POST", path+"?dryRun=All", asJSON(t, configMap("b")), why...)
	if r := h.send("POST", path, body, why...); r.code != 409 {
		t.Fatalf("created twice: %d", r.code)
	}
	h.mustSend("PATCH", path+"/a", `{"data":{"k":"v"}}`, append(why, "Content-Type", "application/merge-patch+json")...)
	h.mustSend("PUT", path+"/a", asJSON(t, configMap("a", "k", "w")), why...)
	h.mustSend("DELETE", path+"/a", "", why...)
	var verbs []string
	last := int64(0)
	for _, w := range writesOf(h, "a") {
		verbs = append(verbs, w.Verb)
		if w.Actor != "tester" || w.UserAgent != "some-controller/v1" || len(w.Causes) != 2 || w.Causes[0] != 3 || w.Causes[1] != 4 || w.Resource.Resource != "configmaps" || w.Namespace != "default" || w.UID == "" || w.Revision <= last {
			t.Errorf("recorded: %+v", w)
		}
		last = w.Revision
	}
	if got := strings.Join(verbs, " "); got != "create patch update delete" {
		t.Fatalf("recorded verbs: %s", got)
	}
	if writes := writesOf(h, "b"); len(writes) != 0 {
		t.Fatalf("a dry run is recorded: %+v", writes)
	}
	var shown []writerecord.Write
	h.mustSend("GET", "/minikcm/v1/writes?name=a&resource=configmaps&since="+strconv.FormatInt(last-1, 10), "").into(t, &shown)
	if len(shown) != 1 || shown[0].Verb != "delete" {
		t.Fatalf("shown: %+v", shown)
	}
	wantReply(t, h.send("GET", "/minikcm/v1/writes?since=x", ""), 400, metav1.StatusReasonBadRequest, "since must be a revision")
}

func withReplicas(d *appsv1.Deployment, n int32) *appsv1.Deployment {
	c := d.DeepCopy()
	c.Status.Replicas = n
	return c
}

// A duplicate owner reference is kept once, and the client gets a warning.
func TestDuplicateOwners(t *testing.T) {
	h := start(t)
	const owner = `{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}`
	body := `{"metadata":{"name":"a","ownerReferences":[` + owner + "," + owner + "]}}"
	for _, method := range []string{"POST", "PUT"} {
		path := mapsPath
		if method == "PUT" {
			path += "/a"
		}
		r := h.mustSend(method, path, body)
		var cm corev1.ConfigMap
		r.into(t, &cm)
		if len(cm.OwnerReferences) != 1 || len(r.header["Warning"]) != 1 || !strings.Contains(r.header["Warning"][0], "duplicate UID(s) observed: u") {
			t.Errorf("%s: %+v %q", method, cm.OwnerReferences, r.header["Warning"])
		}
	}
}
