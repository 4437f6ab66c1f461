package stages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"sigs.k8s.io/yaml"
)

// The budgets of templates.
const (
	// maxOutput caps the output of a template, and the strings that its functions make, in bytes.
	maxOutput = 1 << 20
	// maxText caps the bytes of template text that one rendering executes. The body of a loop
	// counts each time.
	maxText = 8 << 20
	// maxNumbers caps the numbers of until.
	maxNumbers = 20_000
)

// Env holds a template's inputs other than the object.
type Env struct {
	// Now is the cluster's time, Start the time at which the process started.
	Now, Start time.Time
	// Version is minikcm's version, Node the name of the object's node, NodePort the port of its
	// kubelet.
	Version  string
	Node     string
	NodePort int
	Random   Random
	// NodeIPs returns the addresses of a node. PodIPs returns the addresses of the pod with the
	// UID, and allocates them if the pod has none.
	NodeIPs func(node string) []string
	PodIPs  func(node, uid string) ([]string, error)
}

// body is a template that is parsed.
type body struct {
	source   string
	template *template.Template
}

// countText is the name of the function that is called in every body.
const countText = "minikcmCountText"

func newBody(source string) (*body, error) {
	t, err := template.New("template").Funcs(functions(&Env{})).Funcs(template.FuncMap{countText: func(int) string { return "" }}).Parse(strings.TrimSpace(source))
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
	return &body{source, t}, nil
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

// bodyCost is the fixed cost of executing a body, in addition to its text.
const bodyCost = 64

func prepend(list *parse.ListNode) {
	counting := template.Must(template.New("").Funcs(template.FuncMap{countText: func(int) string { return "" }}).Parse("{{" + countText + " " + strconv.Itoa(len(list.String())+bodyCost) + "}}"))
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

var errText = errors.New("the template loops for too long")

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
	left := maxText
	clone.Funcs(metered(functions(env), b.source)).Funcs(template.FuncMap{countText: func(n int) (string, error) {
		if left -= n; left < 0 {
			return "", errText
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
