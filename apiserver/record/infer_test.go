package record_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/apiserver/record"
	"minikcm.dev/minikcm/test/golden"
)

const (
	kubectl  = "kubectl/v1.37.2 (linux/amd64) kubernetes/unknown"
	operator = "site-operator/v0.0.0 (linux/amd64) kubernetes/$Format"
)

// object is the object of a test's writes.
type object struct {
	kind, name string
	uid        types.UID
	owner      *record.Owner
}

func (o object) write(revision int64, userAgent string, effect record.Effect, path string, causes ...int64) record.Write {
	w := record.Write{
		Revision: revision, Time: time.Unix(revision, 0), Actor: "kubernetes-admin", UserAgent: userAgent, Effect: effect,
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: strings.ToLower(o.kind) + "s"}, Kind: o.kind,
		Namespace: "default", Name: o.name, UID: o.uid, Causes: causes, Controller: o.owner,
	}
	if path != "" {
		w.Changes = []record.Change{{Path: path, From: "1", To: "2"}}
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
	owner := &record.Owner{Kind: "Site", Name: "a", UID: "site"}
	web, again := object{"Deployment", "a", "web", owner}, object{"Deployment", "a", "again", owner}
	const controller = "minikcm/deployment-controller"
	for _, test := range []struct {
		title  string
		of     object
		writes []record.Write
	}{
		{"the owner was made", web, []record.Write{
			site.write(10, kubectl, record.Created, ""),
			site.write(11, operator, record.Changed, "metadata.finalizers"),
			site.write(12, operator, record.Changed, "status.phase"),
			web.write(13, operator, record.Created, ""),
		}},
		{"its own object was changed", site, []record.Write{
			site.write(10, kubectl, record.Created, ""),
			site.write(11, operator, record.Changed, "metadata.finalizers"),
		}},
		{"the owner was changed", web, []record.Write{
			site.write(10, kubectl, record.Created, ""),
			web.write(11, operator, record.Created, ""),
			web.write(12, controller, record.Changed, "metadata.annotations[deployment.kubernetes.io/revision]", 11),
			site.write(13, kubectl, record.Changed, "spec.size"),
			web.write(14, controller, record.Changed, "status.replicas", 11),
			web.write(15, operator, record.Changed, "spec.replicas"),
		}},
		{"what it owns was changed", site, []record.Write{
			site.write(10, kubectl, record.Created, ""),
			web.write(11, operator, record.Created, ""),
			web.write(12, controller, record.Changed, "status.replicas", 11),
			site.write(13, operator, record.Changed, "status.ready"),
		}},
		{"kubectl interfered", web, []record.Write{
			site.write(10, kubectl, record.Created, ""),
			web.write(11, operator, record.Created, ""),
			web.write(12, kubectl, record.Changed, "spec.replicas"),
			web.write(13, operator, record.Changed, "spec.replicas"),
		}},
		{"another one was removed", again, []record.Write{
			site.write(10, kubectl, record.Created, ""),
			web.write(11, operator, record.Created, ""),
			web.write(12, kubectl, record.Removed, ""),
			again.write(13, operator, record.Created, ""),
		}},
		{"a test and its operator in one program", web, []record.Write{
			site.write(10, operator, record.Created, ""),
			site.write(11, operator, record.Changed, "status.phase"),
			web.write(12, operator, record.Created, ""),
		}},
		{"a write by hand", web, []record.Write{
			site.write(10, kubectl, record.Created, ""),
			web.write(11, kubectl, record.Created, ""),
		}},
		{"a test that disturbs", web, []record.Write{
			site.write(10, kubectl, record.Created, ""),
			web.write(11, operator, record.Created, ""),
			web.write(12, "site.test/v0.0.0 (linux/amd64) kubernetes/$Format", record.Removed, ""),
		}},
		{"the owner is not in the record", web, []record.Write{web.write(11, operator, record.Created, "")}},
		{"the owner was changed later", web, []record.Write{
			web.write(11, operator, record.Created, ""),
			site.write(12, kubectl, record.Changed, "spec.size"),
		}},
	} {
		t.Run(test.title, func(t *testing.T) {
			t.Parallel()
			e, err := record.Explain(test.writes, 0, record.Query{Kind: test.of.kind, Namespace: "default", Name: test.of.name})
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
		write record.Write
		want  bool
	}{
		"outside":        {record.Write{UserAgent: operator}, true},
		"a part":         {record.Write{UserAgent: "minikcm/kubelet"}, false},
		"with its cause": {record.Write{UserAgent: operator, Causes: []int64{7}}, false},
	} {
		log := record.NewLog(1)
		log.Add(test.write, nil, owned)
		if got := log.Writes(nil)[0].Controller; (got != nil) != test.want {
			t.Errorf("%s: the controller is %v", name, got)
		}
	}
}
