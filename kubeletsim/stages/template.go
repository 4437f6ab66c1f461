package stages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"sigs.k8s.io/yaml"
)

// The budgets of templates.
const (
	// maxOutput caps what a template writes, and the strings that its functions make.
	maxOutput = 1 << 20
	// maxIterations caps how many bodies of range, define and template one rendering runs.
	maxIterations = 20_000
)

// Env is what a template knows beside the object.
type Env struct {
	// Now is the cluster's time, Start that at which the process started.
	Now, Start time.Time
	// Version is that of minikcm, Node the name of the object's node, NodePort the port of its kubelet.
	Version  string
	Node     string
	NodePort int
	Random   Random
	// NodeIPs returns the addresses of a node, PodIPs those of the pod with the UID, which it takes
	// if the pod has none.
	NodeIPs func(node string) []string
	PodIPs  func(node, uid string) ([]string, error)
}

// body is a template that is parsed.
type body struct{ template *template.Template }

// countIteration is the name of the function that is called in every body.
const countIteration = "minikcmCountIteration"

func newBody(source string) (*body, error) {
	t, err := template.New("template").Funcs(functions(&Env{})).Funcs(template.FuncMap{countIteration: func() string { return "" }}).Parse(strings.TrimSpace(source))
	if err != nil {
		return nil, fmt.Errorf("parsing the template: %w", err)
	}
	for _, named := range t.Templates() {
		if named.Tree == nil || named.Root == nil {
			continue
		}
		count(named.Root)
		prepend(named.Root)
	}
	return &body{t}, nil
}

// count makes the bodies of loops and conditions count their runs.
func count(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.RangeNode:
			count(n.List)
			count(n.ElseList)
			prepend(n.List)
		case *parse.IfNode:
			count(n.List)
			count(n.ElseList)
		case *parse.WithNode:
			count(n.List)
			count(n.ElseList)
		}
	}
}

func prepend(list *parse.ListNode) {
	counting := template.Must(template.New("").Funcs(template.FuncMap{countIteration: func() string { return "" }}).Parse("{{" + countIteration + "}}"))
	list.Nodes = append([]parse.Node{counting.Root.Nodes[0]}, list.Nodes...)
}

// limitedBuffer fails instead of growing beyond maxOutput.
type limitedBuffer struct{ bytes.Buffer }

var errOutput = fmt.Errorf("the template writes more than %d bytes", maxOutput)

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		return 0, errOutput
	}
	return b.Buffer.Write(p)
}

var errIterations = fmt.Errorf("the template loops more than %d times", maxIterations)

// render returns the JSON of the YAML that the template makes of an object.
func (b *body) render(o *Object, env *Env) ([]byte, error) {
	encoded, err := json.Marshal(o.Content)
	if err != nil {
		return nil, fmt.Errorf("encoding the object: %w", err)
	}
	var data any
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	if err := decoder.Decode(&data); err != nil {
		return nil, fmt.Errorf("decoding the object: %w", err)
	}
	clone, err := b.template.Clone()
	if err != nil {
		return nil, fmt.Errorf("preparing the template: %w", err)
	}
	iterations := 0
	clone.Funcs(functions(env)).Funcs(template.FuncMap{countIteration: func() (string, error) {
		if iterations++; iterations > maxIterations {
			return "", errIterations
		}
		return "", nil
	}})
	var out limitedBuffer
	if err := clone.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("rendering the template: %w", err)
	}
	rendered, err := yaml.YAMLToJSON(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the template made invalid YAML: %w", err)
	}
	if string(rendered) == "null" {
		return nil, errors.New("the template made an empty document")
	}
	return rendered, nil
}
