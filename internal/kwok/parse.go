package kwok

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/kwokcel"
	"minikcm.dev/minikcm/internal/stages"
)

// The budgets of objects.
const (
	// maxObject caps the bytes of one.
	maxObject = stages.MaxManifest
	// MaxFile caps the bytes of a file of them.
	MaxFile = 8 << 20
	// maxExpressions caps the expressions of one object.
	maxExpressions = 512
)

// Manifest is an object of a file: its JSON, its kind and its name. Namespace is empty for the kinds
// without namespaces.
type Manifest struct {
	Kind, Namespace, Name string
	JSON                  []byte
}

// String returns kind and name.
func (m *Manifest) String() string {
	if m.Namespace == "" {
		return m.Kind + " " + m.Name
	}
	return m.Kind + " " + m.Namespace + "/" + m.Name
}

// Parser reads objects, one at a time.
type Parser struct {
	compiler *kwokcel.Compiler
	// expressions is the number of expressions that the present object may still have.
	expressions int
}

// NewParser returns a parser.
func NewParser() *Parser { return &Parser{compiler: kwokcel.NewCompiler()} }

// Split returns the objects in YAML or JSON documents, each of which it parses: Stages,
// ResourceUsages, ClusterResourceUsages and Metrics. Documents of other kinds are an error, empty ones
// are left out.
func Split(data []byte) ([]Manifest, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("the file has %d bytes, more than %d", len(data), MaxFile)
	}
	var all []Manifest
	parser := NewParser()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for i := 1; ; i++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading document %d: %w", i, err)
		}
		if len(bytes.TrimSpace(withoutComments(text))) == 0 {
			continue
		}
		m, err := parser.manifest(text)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		all = append(all, *m)
	}
}

func withoutComments(text []byte) []byte {
	var kept [][]byte
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(line)
		if !bytes.HasPrefix(trimmed, []byte("#")) && !bytes.Equal(trimmed, []byte("---")) {
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, nil)
}

// manifest parses one document.
func (p *Parser) manifest(text []byte) (*Manifest, error) {
	if len(text) > maxObject {
		return nil, fmt.Errorf("an object has %d bytes, more than %d", len(text), maxObject)
	}
	encoded, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("decoding it: %w", err)
	}
	var of metav1.TypeMeta
	if err := json.Unmarshal(encoded, &of); err != nil {
		return nil, fmt.Errorf("decoding it: %w", err)
	}
	m := &Manifest{Kind: of.Kind, JSON: encoded}
	switch {
	case of.APIVersion != apiVersion:
		err = fmt.Errorf("it is a %q of %q, and must be of %s", of.Kind, of.APIVersion, apiVersion)
	case of.Kind == stages.Kind:
		var s *stages.Stage
		if s, err = stages.Parse(encoded); err == nil {
			m.Name = s.Name
		}
	case of.Kind == KindResourceUsage || of.Kind == KindClusterResourceUsage:
		var u *Usage
		if u, err = p.Usage(encoded); err == nil {
			m.Namespace, m.Name = u.Namespace, u.Name
		}
	case of.Kind == KindMetric:
		var metric *Metric
		if metric, err = p.Metric(encoded); err == nil {
			m.Name = metric.Name
		}
	default:
		err = fmt.Errorf("it is a %q of %s: only %s, %s, %s and %s have effect", of.Kind, apiVersion, stages.Kind, KindResourceUsage, KindClusterResourceUsage, KindMetric)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// decode decodes an object of one of the kinds. Unknown fields are an error.
func decode[Spec any](p *Parser, encoded []byte, kinds ...string) (*document[Spec], error) {
	if len(encoded) > maxObject {
		return nil, fmt.Errorf("an object has %d bytes, more than %d", len(encoded), maxObject)
	}
	p.expressions = maxExpressions
	var d document[Spec]
	if err := yaml.UnmarshalStrict(encoded, &d); err != nil {
		return nil, fmt.Errorf("decoding it: %w", err)
	}
	switch {
	case d.APIVersion != apiVersion || !slices.Contains(kinds, d.Kind):
		return nil, fmt.Errorf("it is a %q of %q, and must be a %s of %s", d.Kind, d.APIVersion, kinds[0], apiVersion)
	case d.Name == "":
		return nil, errors.New("metadata.name is missing")
	}
	return &d, nil
}

var errExpressions = fmt.Errorf("the object has more than %d expressions", maxExpressions)

func (p *Parser) number(source string, in kwokcel.Scope) (*kwokcel.Expression, error) {
	if p.expressions--; p.expressions < 0 {
		return nil, errExpressions
	}
	return p.compiler.Number(source, in)
}

func (p *Parser) text(source string, in kwokcel.Scope) (*kwokcel.Expression, error) {
	if p.expressions--; p.expressions < 0 {
		return nil, errExpressions
	}
	return p.compiler.Text(source, in)
}
