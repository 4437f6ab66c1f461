package writerecord_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/writerecord"
)

const (
	kubectl  = "kubectl/v1.37.2 (linux/amd64) kubernetes/unknown"
	operator = "site-operator/v0.0.0 (linux/amd64) kubernetes/$Format"
)

// object is the object of a test's writes.
type object struct {
	kind, name string
	uid        types.UID
	owner      *writerecord.Owner
}

func (o object) write(revision int64, userAgent string, effect writerecord.Effect, path string, causes ...int64) writerecord.Write {
	w := writerecord.Write{
		Revision: revision, Time: time.Unix(revision, 0), Actor: "kubernetes-admin", UserAgent: userAgent, Effect: effect,
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: strings.ToLower(o.kind) + "s"}, Kind: o.kind,
		Namespace: "default", Name: o.name, UID: o.uid, Causes: causes, Controller: o.owner,
	}
	if path != "" {
		w.Changes = []writerecord.Change{{Path: path, From: "1", To: "2"}}
	}
	if strings.HasPrefix(path, "status") {
		w.Subresource = "status"
	}
	return w
}

// Inferred causes continue chains that an operator outside the cluster interrupts, and
// are marked as inferred.
func TestInferredCauses(t *testing.T) {
	t.Parallel()
	site := object{kind: "Site", name: "a", uid: "site"}
	owner := &writerecord.Owner{Kind: "Site", Name: "a", UID: "site"}
	web, again := object{"Deployment", "a", "web", owner}, object{"Deployment", "a", "again", owner}
	const controller = "minikcm/deployment-controller"
	for _, test := range []struct {
		title  string
		of     object
		writes []writerecord.Write
	}{
		{"the owner was made", web, []writerecord.Write{
			site.write(10, kubectl, writerecord.Created, ""),
			site.write(11, operator, writerecord.Changed, "metadata.finalizers"),
			site.write(12, operator, writerecord.Changed, "status.phase"),
			web.write(13, operator, writerecord.Created, ""),
		}},
		{"its own object was changed", site, []writerecord.Write{
			site.write(10, kubectl, writerecord.Created, ""),
			site.write(11, operator, writerecord.Changed, "metadata.finalizers"),
		}},
		{"the owner was changed", web, []writerecord.Write{
			site.write(10, kubectl, writerecord.Created, ""),
			web.write(11, operator, writerecord.Created, ""),
			web.write(12, controller, writerecord.Changed, "metadata.annotations[deployment.kubernetes.io/revision]", 11),
			site.write(13, kubectl, writerecord.Changed, "spec.size"),
			web.write(14, controller, writerecord.Changed, "status.replicas", 11),
			web.write(15, operator, writerecord.Changed, "spec.replicas"),
		}},
		{"what it owns was changed", site, []writerecord.Write{
			site.write(10, kubectl, writerecord.Created, ""),
			web.write(11, operator, writerecord.Created, ""),
			web.write(12, controller, writerecord.Changed, "status.replicas", 11),
			site.write(13, operator, writerecord.Changed, "status.ready"),
		}},
		{"kubectl interfered", web, []writerecord.Write{
			site.write(10, kubectl, writerecord.Created, ""),
			web.write(11, operator, writerecord.Created, ""),
			web.write(12, kubectl, writerecord.Changed, "spec.replicas"),
			web.write(13, operator, writerecord.Changed, "spec.replicas"),
		}},
		{"another one was removed", again, []writerecord.Write{
			site.write(10, kubectl, writerecord.Created, ""),
			web.write(11, operator, writerecord.Created, ""),
			web.write(12, kubectl, writerecord.Removed, ""),
			again.write(13, operator, writerecord.Created, ""),
		}},
		{"a test and its operator in one program", web, []writerecord.Write{
			site.write(10, operator, writerecord.Created, ""),
			site.write(11, operator, writerecord.Changed, "status.phase"),
			web.write(12, operator, writerecord.Created, ""),
		}},
		{"a write by hand", web, []writerecord.Write{
			site.write(10, kubectl, writerecord.Created, ""),
			web.write(11, kubectl, writerecord.Created, ""),
		}},
		{"a test that disturbs", web, []writerecord.Write{
			site.write(10, kubectl, writerecord.Created, ""),
			web.write(11, operator, writerecord.Created, ""),
			web.write(12, "site.test/v0.0.0 (linux/amd64) kubernetes/$Format", writerecord.Removed, ""),
		}},
		{"the owner is not in the record", web, []writerecord.Write{web.write(11, operator, writerecord.Created, "")}},
		{"the owner was changed later", web, []writerecord.Write{
			web.write(11, operator, writerecord.Created, ""),
			site.write(12, kubectl, writerecord.Changed, "spec.size"),
		}},
	} {
		t.Run(test.title, func(t *testing.T) {
			t.Parallel()
			e, err := writerecord.Explain(test.writes, 0, writerecord.Query{Kind: test.of.kind, Namespace: "default", Name: test.of.name})
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := e.Print(&out, time.Time{}); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, fmt.Sprintf("testdata/inferred/%s.golden", strings.ReplaceAll(test.title, " ", "-")), out.String())
		})
	}
}

// The controller owner is recorded for writes without causes by clients outside the
// cluster, and for no others.
func TestControllerIsRecorded(t *testing.T) {
	t.Parallel()
	owned := pod(nil)
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "Site", Name: "a", UID: "site", Controller: new(true)}}
	for name, test := range map[string]struct {
		write writerecord.Write
		want  bool
	}{
		"outside":        {writerecord.Write{UserAgent: operator}, true},
		"a part":         {writerecord.Write{UserAgent: "minikcm/kubelet"}, false},
		"with its cause": {writerecord.Write{UserAgent: operator, Causes: []int64{7}}, false},
	} {
		log := writerecord.NewLog(1)
		log.Add(test.write, nil, owned)
		if got := log.Writes(nil)[0].Controller; (got != nil) != test.want {
			t.Errorf("%s: the controller is %v", name, got)
		}
	}
}
