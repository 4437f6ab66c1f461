package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
)

// waitFor is what a wait's For says.
type waitFor struct {
	// kind is condition, jsonpath, create or delete.
	kind string
	// name and value are the condition's type and status, or the path's text and
	// wanted value; anyValue says that any value will do.
	name, value string
	anyValue    bool
	path        *jsonpath.JSONPath
}

func parseFor(text string) (waitFor, error) {
	kind, rest, _ := strings.Cut(text, "=")
	switch {
	case (kind == "create" || kind == "delete") && rest == "":
		return waitFor{kind: kind}, nil
	case kind == "condition" && rest != "":
		name, status, given := strings.Cut(rest, "=")
		if !given {
			status = "True"
		}
		return waitFor{kind: kind, name: name, value: status}, nil
	case kind == "jsonpath" && strings.HasPrefix(rest, "{"):
		return parsePathFor(rest)
	}
	return waitFor{}, fmt.Errorf("%q cannot be waited for; write condition=Available, condition=Ready=False, jsonpath={.status.phase}=Running, create or delete", text)
}

func parsePathFor(rest string) (waitFor, error) {
	end := strings.LastIndex(rest, "}")
	if end < 0 {
		return waitFor{}, fmt.Errorf("the braces of jsonpath=%s are not closed", rest)
	}
	expression, value, given := rest[:end+1], strings.TrimPrefix(rest[end+1:], "="), end+1 < len(rest)
	if given && rest[end+1] != '=' {
		return waitFor{}, fmt.Errorf("jsonpath=%s: after the expression comes =VALUE or nothing", rest)
	}
	path := jsonpath.New("wait").AllowMissingKeys(true)
	if err := path.Parse(expression); err != nil {
		return waitFor{}, fmt.Errorf("jsonpath=%s: %w", rest, err)
	}
	return waitFor{kind: "jsonpath", name: expression, value: value, anyValue: !given, path: path}, nil
}

func (w *Wait) check(line int) error {
	kind, name, err := splitTarget(w.Target)
	switch {
	case w.Target == "":
		return at(line, "wait.target is missing: write KIND/NAME, such as deployment/web")
	case err != nil:
		return at(line, "wait.target: %w", err)
	case name != "" && w.Selector != "":
		return at(line, "wait.target names %s, so that selector has no use", w.Target)
	case name == "" && w.Selector == "":
		return at(line, "wait.target %q needs a name (%s/NAME) or a selector", w.Target, kind)
	}
	if err := checkSelector(w.Selector); err != nil {
		return at(line, "wait.selector: %w", err)
	}
	if w.parsed, err = parseFor(w.For); err != nil {
		return at(line, "wait.for: %w", err)
	}
	if w.Within == 0 {
		w.Within = Duration(defaultWithin)
	}
	return nil
}

func (w *Wait) title() string {
	target := w.Target
	if w.Selector != "" {
		target += " " + w.Selector
	}
	return fmt.Sprintf("wait for %s of %s", w.For, target)
}

func (w *Wait) run(ctx context.Context, r *run) error {
	kind, name, err := splitTarget(w.Target)
	if err != nil {
		return err
	}
	client, err := r.target(kind, w.Namespace)
	if err != nil {
		return err
	}
	look := func(ctx context.Context) error {
		if name == "" {
			return w.lookAll(ctx, client)
		}
		o, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			if w.parsed.kind == "delete" {
				return nil
			}
			return &differs{fmt.Errorf("%s does not exist", w.Target)}
		}
		if err != nil {
			return err
		}
		return w.parsed.holds(o)
	}
	return r.within(ctx, time.Duration(w.Within), look)
}

func (w *Wait) lookAll(ctx context.Context, client lister) error {
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: w.Selector})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		if w.parsed.kind == "delete" {
			return nil
		}
		return &differs{fmt.Errorf("no %s match %s", w.Target, w.Selector)}
	}
	for i := range list.Items {
		if err := w.parsed.holds(&list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// differs is an error that says that the cluster is not (yet) as wanted.
type differs struct{ error }

func (d *differs) Unwrap() error { return d.error }

// holds says whether an object that exists is as waited for; a *differs if not.
func (f *waitFor) holds(o *unstructured.Unstructured) error {
	switch f.kind {
	case "create":
		return nil
	case "delete":
		return &differs{fmt.Errorf("%s still exists", titleOf(o))}
	case "condition":
		return f.conditionHolds(o)
	}
	var out bytes.Buffer
	if err := f.path.Execute(&out, o.Object); err != nil {
		return fmt.Errorf("reading %s of %s: %w", f.name, titleOf(o), err)
	}
	got := out.String()
	if (f.anyValue && got != "") || (!f.anyValue && got == f.value) {
		return nil
	}
	return &differs{fmt.Errorf("%s of %s is %q", f.name, titleOf(o), got)}
}

func (f *waitFor) conditionHolds(o *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return errors.Join(fmt.Errorf("reading the conditions of %s", titleOf(o)), err)
	}
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if !ok || !strings.EqualFold(fmt.Sprint(condition["type"]), f.name) {
			continue
		}
		if strings.EqualFold(fmt.Sprint(condition["status"]), f.value) {
			return nil
		}
		return &differs{fmt.Errorf("condition %s of %s is %v (%v: %v)", f.name, titleOf(o), condition["status"], condition["reason"], condition["message"])}
	}
	return &differs{fmt.Errorf("%s has no condition %s", titleOf(o), f.name)}
}
