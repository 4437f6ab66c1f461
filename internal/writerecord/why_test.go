package writerecord_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/writerecord"
)

// realWrites returns a recorded run: kubectl created a Deployment, scaled it from 1 to
// 2, deleted one of its pods, and then the Deployment.
func realWrites(t *testing.T) []writerecord.Write {
	t.Helper()
	data, err := os.ReadFile("testdata/writes.json")
	if err != nil {
		t.Fatal(err)
	}
	var writes []writerecord.Write
	if err := json.Unmarshal(data, &writes); err != nil {
		t.Fatal(err)
	}
	return writes
}

// Each chain of the recorded run is explained as it happened.
func TestExplainReal(t *testing.T) {
	t.Parallel()
	writes := realWrites(t)
	var out strings.Builder
	seen := map[string]bool{}
	for _, w := range writes {
		if seen[w.Kind+w.Name] {
			continue
		}
		seen[w.Kind+w.Name] = true
		e, err := writerecord.Explain(writes, 0, writerecord.Query{Resource: w.Resource.Resource, Namespace: w.Namespace, Name: w.Name})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Print(&out, writes[0].Time); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	golden.Compare(t, "testdata/why.golden", out.String())
}

// made returns a write to a pod, one second after the one of the previous revision.
func made(revision int64, name string, effect writerecord.Effect, causes ...int64) writerecord.Write {
	return writerecord.Write{
		Revision: revision, Time: time.Unix(revision, 0), Actor: "system:kube-controller-manager", UserAgent: "minikcm/" + name + "-controller",
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespace: "default", Name: name,
		Effect: effect, UID: "1", Causes: causes,
	}
}

func TestExplainEndings(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	explain := func(title string, forgotten int64, writes ...writerecord.Write) {
		fmt.Fprintf(&out, "# %s\n", title)
		e, err := writerecord.Explain(writes, forgotten, writerecord.Query{Kind: "Pod", Namespace: "default", Name: "a"})
		if err != nil {
			fmt.Fprintf(&out, "%v\n\n", err)
			return
		}
		if err := e.Print(&out, time.Time{}); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	explain("no write at all", 0)
	explain("no write of this one", 7, made(12, "b", writerecord.Created))
	explain("a cause that is forgotten", 5, made(10, "a", writerecord.Changed, 3))
	explain("a cause from before the record", 0, made(10, "a", writerecord.Created, 3))
	explain("a cause that is not recorded", 0, made(10, "a", writerecord.Created), made(20, "a", writerecord.Changed, 15))
	explain("a cause that comes later", 0, made(10, "a", writerecord.Created, 20), made(20, "b", writerecord.Created, 10))
	var many []writerecord.Write
	var causes []int64
	for i := range int64(10) {
		many = append(many, made(i+1, fmt.Sprintf("b%d", i), writerecord.Created))
		causes = append(causes, i+1)
	}
	explain("many causes", 0, append(many, made(20, "a", writerecord.Created, causes...))...)
	chain := []writerecord.Write{made(1, "b", writerecord.Created)}
	for i := range int64(60) {
		chain = append(chain, made(i+2, fmt.Sprintf("b%d", i), writerecord.Changed, i+1))
	}
	explain("a long chain", 0, append(chain, made(100, "a", writerecord.Created, 61))...)
	again := made(3, "a", writerecord.Created)
	again.UID = "2"
	explain("another object of the name before", 0, made(1, "a", writerecord.Created), made(2, "a", writerecord.Removed), again)
	golden.Compare(t, "testdata/endings.golden", out.String())
}

func TestNeverWritten(t *testing.T) {
	t.Parallel()
	_, err := writerecord.Explain(nil, 3, writerecord.Query{Resource: "nodes", Name: "x"})
	var never *writerecord.NeverWrittenError
	if !errors.As(err, &never) || never.Forgotten != 3 {
		t.Errorf("got %v", err)
	}
}
