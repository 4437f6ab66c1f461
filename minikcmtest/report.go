package minikcmtest

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/writeexport"
)

const (
	// reportTimeout bounds the report on a failed test, in machine time.
	reportTimeout = 10 * time.Second
	// maxReportedWrites is how many writes to an object a report has, the newest ones.
	maxReportedWrites = 30
)

// ReportOnFailure logs a report on objects if the test fails: why each one is not ready, the
// causes of its writes as "minikcm why" prints them, its events and its newest writes. An object
// is written as KIND/NAMESPACE/NAME, or KIND/NAME if it is cluster-scoped; instead of the kind,
// such as Deployment, it may have the resource, such as deployments. The object need not exist
// yet.
func (c *Cluster) ReportOnFailure(objects ...string) {
	c.t.Helper()
	queries := make([]minikcm.Query, len(objects))
	for i, object := range objects {
		var err error
		if queries[i], err = parseObject(object); err != nil {
			c.t.Fatalf("ReportOnFailure: %v", err)
		}
	}
	c.t.Cleanup(func() {
		if !c.t.Failed() {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), reportTimeout)
		defer cancel()
		for i, query := range queries {
			c.t.Logf("%s\n%s", objects[i], c.report(ctx, query))
		}
	})
}

func parseObject(text string) (minikcm.Query, error) {
	parts := strings.Split(text, "/")
	for _, part := range parts {
		if part == "" {
			parts = nil
		}
	}
	var q minikcm.Query
	switch len(parts) {
	case 2:
		q.Name = parts[1]
	case 3:
		q.Namespace, q.Name = parts[1], parts[2]
	default:
		return q, fmt.Errorf("%q is not an object: write KIND/NAMESPACE/NAME, or KIND/NAME without a namespace, such as Deployment/default/web", text)
	}
	if first, _ := utf8.DecodeRuneInString(parts[0]); unicode.IsUpper(first) {
		q.Kind = parts[0]
	} else {
		q.Resource, q.Group, _ = strings.Cut(parts[0], ".")
	}
	return q, nil
}

// report describes an object. What cannot be read is replaced by the error.
func (c *Cluster) report(ctx context.Context, query minikcm.Query) string {
	explanation, err := c.Why(ctx, query)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	_ = explanation.Print(&b, time.Time{}) // a Builder does not fail
	b.WriteString("\nEvents\n")
	c.reportEvents(ctx, &b, explanation.Object.Kind, query)
	writes := c.Writes().Writes(func(w *minikcm.Write) bool {
		return w.Resource == explanation.Object.Resource && w.Namespace == query.Namespace && w.Name == query.Name
	})
	if len(writes) > 0 {
		fmt.Fprintf(&b, "\nWrites (%d)\n", len(writes))
		_ = writeexport.Table(&b, writes[max(0, len(writes)-maxReportedWrites):]) // nor here
	}
	return b.String()
}

func (c *Cluster) reportEvents(ctx context.Context, b *strings.Builder, kind string, query minikcm.Query) {
	namespace := query.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // of the events of cluster-scoped objects
	}
	selector := fields.Set{"involvedObject.name": query.Name, "involvedObject.kind": kind}.String()
	events, err := c.Client().CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		fmt.Fprintf(b, "  %v\n", err)
		return
	}
	for i := range events.Items {
		fmt.Fprintf(b, "  %s\n", eventLine(&events.Items[i]))
	}
	if len(events.Items) == 0 {
		b.WriteString("  none\n")
	}
}

func eventLine(e *corev1.Event) string {
	text := fmt.Sprintf("%s %s %s: %s", happened(e).UTC().Format(time.RFC3339), e.Type, e.Reason, e.Message)
	if e.Count > 1 {
		text += fmt.Sprintf(" (%d times)", e.Count)
	}
	return text
}
