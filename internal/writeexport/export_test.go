package writeexport_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/writeexport"
)

// record is a rollout: a user creates a Deployment, and two controllers react.
func record() []minikcm.Write {
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	apps := func(resource string) metav1.GroupVersionResource {
		return metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}
	}
	return []minikcm.Write{
		{
			Revision: 10, Time: start, Actor: `jane "j" <doe>`, UserAgent: "kubectl/v1.37", Verb: "create", Resource: apps("deployments"), Kind: "Deployment",
			Effect: minikcm.Created, Namespace: "shop", Name: "web", UID: "u-1",
		},
		{
			Revision: 11, Time: start.Add(time.Millisecond), Actor: "system:deployment", Verb: "create", Resource: apps("replicasets"), Kind: "ReplicaSet",
			Effect: minikcm.Created, Namespace: "shop", Name: "web-1", Causes: []int64{10},
		},
		{
			Revision: 12, Time: start.Add(2 * time.Millisecond), Actor: "system:replicaset", Verb: "update", Resource: apps("replicasets"), Subresource: "status",
			Effect: minikcm.Changed, Namespace: "shop", Name: "web-1", Causes: []int64{9, 11},
			Changes: []minikcm.Change{{Path: "status.replicas", From: "0", To: "1"}},
		},
		{
			Revision: 13, Time: start.Add(time.Second), Actor: "jane", Verb: "delete", Resource: metav1.GroupVersionResource{Version: "v1", Resource: "nodes"},
			Effect: minikcm.Removed, Name: "node-1",
		},
	}
}

func TestAudit(t *testing.T) {
	var out bytes.Buffer
	if err := writeexport.Audit(&out, record()); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/audit.golden", out.String())
	scheme := runtime.NewScheme()
	if err := auditv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for line := range strings.Lines(out.String()) {
		if _, _, err := decoder.Decode([]byte(line), nil, nil); err != nil {
			t.Errorf("%s is no audit event: %v", line, err)
		}
	}
}

func TestGraphs(t *testing.T) {
	writes := record()
	explanation := &minikcm.Explanation{
		Object:   writes[2],
		Creation: &minikcm.Link{Write: writes[1], Because: []*minikcm.Link{{Write: writes[0]}}},
		Change: &minikcm.Link{Write: writes[2], Because: []*minikcm.Link{
			{Write: writes[1], Because: []*minikcm.Link{{Write: writes[0]}}},
			{Write: writes[3], Inferred: "owner"},
		}},
	}
	for name, format := range map[string]func(io.Writer) error{
		"writes.dot":  func(w io.Writer) error { return writeexport.DOT(w, writes) },
		"why.dot":     func(w io.Writer) error { return writeexport.ExplanationDOT(w, explanation) },
		"why.mermaid": func(w io.Writer) error { return writeexport.ExplanationMermaid(w, explanation) },
	} {
		var out bytes.Buffer
		if err := format(&out); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, "testdata/"+name+".golden", out.String())
	}
}

// The trace is printed field by field, as protoc prints messages that it does not know.
func TestPerfetto(t *testing.T) {
	var out bytes.Buffer
	if err := writeexport.Perfetto(&out, record()); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	// The messages by the path of their fields: Trace.packet, track_event, debug_annotations,
	// track_descriptor.
	printMessage(t, &text, out.Bytes(), "", map[string]bool{"/1": true, "/1/11": true, "/1/11/4": true, "/1/60": true})
	golden.Compare(t, "testdata/perfetto.golden", text.String())
}

func printMessage(t *testing.T, out *strings.Builder, data []byte, path string, messages map[string]bool) {
	t.Helper()
	indent := strings.Repeat("  ", strings.Count(path, "/"))
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		data = data[n:]
		fmt.Fprintf(out, "%s%d: ", indent, number)
		switch kind {
		case protowire.VarintType:
			value, n := protowire.ConsumeVarint(data)
			fmt.Fprintln(out, value)
			data = data[n:]
		case protowire.Fixed64Type:
			value, n := protowire.ConsumeFixed64(data)
			fmt.Fprintf(out, "0x%016x\n", value)
			data = data[n:]
		case protowire.BytesType:
			value, n := protowire.ConsumeBytes(data)
			if at := fmt.Sprintf("%s/%d", path, number); messages[at] {
				fmt.Fprintln(out, "{")
				printMessage(t, out, value, at, messages)
				fmt.Fprintf(out, "%s}\n", indent)
			} else {
				fmt.Fprintf(out, "%q\n", value)
			}
			data = data[n:]
		default:
			t.Fatalf("type %d", kind)
		}
	}
}

// An empty record is none of the formats' mistakes.
func TestNoWrites(t *testing.T) {
	for name, format := range map[string]func(io.Writer, []minikcm.Write) error{"audit": writeexport.Audit, "perfetto": writeexport.Perfetto, "dot": writeexport.DOT} {
		var out bytes.Buffer
		if err := format(&out, nil); err != nil || json.Valid(out.Bytes()) {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
	}
}
