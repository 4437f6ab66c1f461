package servers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/nesting"
	"minikcm.dev/minikcm/kubeletsim/internal/shelltree"
)

// The budget of a description.
const (
	maxBytes       = 256 << 10
	maxDepth       = 24
	maxListeners   = 64
	maxRoutes      = 512
	maxExpressions = 2048
	maxCalls       = 16
)

// rawDescription and the types below it are the YAML.
type rawDescription struct {
	Complete yaml.Node            `yaml:"complete"`
	State    map[string]yaml.Node `yaml:"state"`
	Listen   []rawListener        `yaml:"listen"`
}

type rawListener struct {
	Port     yaml.Node `yaml:"port"`
	Protocol string    `yaml:"protocol"`
	Mode     string    `yaml:"mode"`
	// Descriptors is a FileDescriptorSet in base64.
	Descriptors string `yaml:"descriptors"`
	TLS         *struct {
		Certificate yaml.Node `yaml:"certificate"`
		Key         yaml.Node `yaml:"key"`
	} `yaml:"tls"`
	Headers yaml.Node  `yaml:"headers"`
	Routes  []rawRoute `yaml:"routes"`
}

type rawRoute struct {
	Path           *string   `yaml:"path"`
	Method         yaml.Node `yaml:"method"`
	Query          yaml.Node `yaml:"query"`
	RequestHeaders yaml.Node `yaml:"requestHeaders"`
	Line           string    `yaml:"line"`
	If             yaml.Node `yaml:"if"`

	Delay   yaml.Node `yaml:"delay"`
	Calls   yaml.Node `yaml:"calls"`
	Run     *rawRun   `yaml:"run"`
	Set     yaml.Node `yaml:"set"`
	Log     yaml.Node `yaml:"log"`
	Status  yaml.Node `yaml:"status"`
	Headers yaml.Node `yaml:"headers"`
	Body    yaml.Node `yaml:"body"`
	JSON    yaml.Node `yaml:"json"`
	Files   yaml.Node `yaml:"files"`
	Fail    string    `yaml:"fail"`
	Exit    yaml.Node `yaml:"exit"`
	Unknown bool      `yaml:"unknown"`
	GRPC    *struct {
		Code    yaml.Node `yaml:"code"`
		Message yaml.Node `yaml:"message"`
	} `yaml:"grpc"`
}

type rawCall struct {
	Method  string    `yaml:"method"`
	URL     yaml.Node `yaml:"url"`
	Headers yaml.Node `yaml:"headers"`
	Body    yaml.Node `yaml:"body"`
	Timeout string    `yaml:"timeout"`
}

type rawRun struct {
	Command []yaml.Node `yaml:"command"`
	Script  yaml.Node   `yaml:"script"`
	CGI     bool        `yaml:"cgi"`
	Timeout string      `yaml:"timeout"`
}

// parser counts what a description has.
type parser struct {
	routes, expressions int
	description         *Description
}

func parse(text string) (*Description, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(text), maxBytes)
	}
	if err := nesting.YAML([]byte(text), maxDepth, maxBytes); err != nil {
		return nil, err
	}
	var raw rawDescription
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty")
	} else if err != nil {
		return nil, located(text, err)
	}
	p := &parser{description: &Description{State: map[string]any{}}}
	if err := p.all(&raw); err != nil {
		return nil, err
	}
	return p.description, nil
}

func (p *parser) all(raw *rawDescription) (err error) {
	if len(raw.Listen) == 0 {
		return errors.New("listen has no port")
	}
	if len(raw.Listen) > maxListeners {
		return fmt.Errorf("listen has %d ports, more than %d", len(raw.Listen), maxListeners)
	}
	if p.description.complete, err = p.checked(&raw.Complete, ofContainer, aChoice, func(text string) error { _, err := completenessOf(text); return err }); err != nil {
		return in("complete", err)
	}
	for name, node := range raw.State {
		var value any
		if err := node.Decode(&value); err != nil {
			return in("state", in(name, err))
		}
		if p.description.State[name], err = plainYAML(value); err != nil {
			return in("state", in(name, err))
		}
	}
	for i := range raw.Listen {
		l, err := p.listener(&raw.Listen[i])
		if err != nil {
			return in(fmt.Sprintf("listen[%d]", i), err)
		}
		l.of = p.description
		p.description.listeners = append(p.description.listeners, l)
	}
	return p.description.checkPorts()
}

func (p *parser) listener(raw *rawListener) (*Listener, error) {
	l := &Listener{Mode: HTTP, protocol: corev1.ProtocolTCP}
	if raw.Mode != "" {
		l.Mode = Mode(raw.Mode)
	}
	if raw.Protocol != "" {
		l.protocol = corev1.Protocol(raw.Protocol)
	}
	switch {
	case l.Mode != HTTP && l.Mode != Text && l.Mode != Echo && l.Mode != GRPC:
		return nil, fmt.Errorf("mode %q is none of http, text, echo and grpc", raw.Mode)
	case l.protocol != corev1.ProtocolTCP && l.protocol != corev1.ProtocolUDP && l.protocol != corev1.ProtocolSCTP:
		return nil, fmt.Errorf("protocol %q is none of TCP, UDP and SCTP", raw.Protocol)
	case raw.Descriptors != "" && l.Mode != GRPC:
		return nil, errors.New("descriptors are for the mode grpc")
	case (l.Mode == HTTP || l.Mode == GRPC) && l.protocol != corev1.ProtocolTCP:
		return nil, fmt.Errorf("protocol %s needs the mode text or echo", raw.Protocol)
	case l.Mode == Echo && len(raw.Routes) > 0:
		return nil, errors.New("the mode echo has no routes")
	}
	var err error
	if l.Mode == GRPC {
		if l.Schema, err = newSchema(raw.Descriptors); err != nil {
			return nil, in("descriptors", err)
		}
	}
	l.port, err = p.checked(&raw.Port, ofContainer, aPort, func(text string) error {
		for one := range strings.SplitSeq(text, ",") {
			if _, err := intOf(one, 1, 1<<16-1); err != nil && !portName.MatchString(one) {
				return err
			}
		}
		return nil
	})
	if err == nil && l.port == nil {
		err = errors.New("it is missing")
	}
	if err != nil {
		return nil, in("port", err)
	}
	if l.headers, err = p.headers(&raw.Headers); err != nil {
		return nil, in("headers", err)
	}
	if raw.TLS != nil {
		l.certificate, err = p.checked(&raw.TLS.Certificate, ofContainer, aName, absolute)
		if err == nil {
			l.key, err = p.checked(&raw.TLS.Key, ofContainer, aName, absolute)
		}
		if err == nil && (l.certificate == nil || l.key == nil || l.Mode != HTTP && l.Mode != GRPC) {
			err = errors.New("it needs the mode http or grpc, a certificate and a key")
		}
		if err != nil {
			return nil, in("tls", err)
		}
	}
	for _, h := range l.headers {
		l.machine = l.machine || h.value.needs.machine
	}
	for i := range raw.Routes {
		r, err := p.route(&raw.Routes[i], l.Mode)
		if err != nil {
			return nil, in(fmt.Sprintf("routes[%d]", i), err)
		}
		l.routes = append(l.routes, r)
		p.description.counts = p.description.counts || r.needs.number
		l.machine = l.machine || r.condition != nil && r.condition.needs.machine
	}
	return l, nil
}

// absolute returns an error if a text is no absolute path.
func absolute(text string) error {
	if !strings.HasPrefix(text, "/") {
		return fmt.Errorf("%q is no absolute path", text)
	}
	return nil
}

// portName is the name of a container's port, which has a letter.
var portName = regexp.MustCompile(`^[a-z0-9-]*[a-z][a-z0-9-]*$`)

func (p *parser) route(raw *rawRoute, mode Mode) (*Route, error) {
	if p.routes++; p.routes > maxRoutes {
		return nil, fmt.Errorf("there are more than %d routes", maxRoutes)
	}
	r := &Route{line: raw.Line, Fail: Failure(raw.Fail), Unknown: raw.Unknown}
	before := p.expressions
	if err := p.request(r, raw, mode); err != nil {
		return nil, err
	}
	if err := p.effects(r, raw); err != nil {
		return nil, err
	}
	if err := p.answer(r, raw); err != nil {
		return nil, err
	}
	if p.expressions > before {
		r.needs = r.allNeeds()
	}
	return r, nil
}

// request reads what a route matches.
func (p *parser) request(r *Route, raw *rawRoute, mode Mode) (err error) {
	if raw.Path != nil {
		if r.path, err = parsePattern(*raw.Path); err != nil {
			return err
		}
	}
	if mode == Text && (raw.Path != nil || !raw.Method.IsZero() || !raw.Query.IsZero() || !raw.RequestHeaders.IsZero()) {
		return errors.New("path, method, query and requestHeaders are for the mode http; the mode text has line and if")
	}
	if mode != GRPC && raw.GRPC != nil {
		return errors.New("grpc is for the mode grpc")
	}
	if mode == GRPC && (!raw.Status.IsZero() || !raw.Method.IsZero() || !raw.Query.IsZero() || !raw.Files.IsZero() || raw.Run != nil || raw.Unknown) {
		return errors.New("status, method, query, files, run and unknown are for the mode http; the mode grpc has path, json and grpc")
	}
	if mode != Text && raw.Line != "" {
		return errors.New("line is for the mode text")
	}
	if r.methods, err = words(&raw.Method); err != nil {
		return in("method", err)
	}
	for i := range r.methods {
		r.methods[i] = strings.ToUpper(r.methods[i])
	}
	if r.query, err = wanted(&raw.Query, func(name string) string { return name }); err != nil {
		return in("query", err)
	}
	if r.headers, err = wanted(&raw.RequestHeaders, strings.ToLower); err != nil {
		return in("requestHeaders", err)
	}
	if raw.If.IsZero() {
		return nil
	}
	condition := resolved(&raw.If)
	if condition.Kind != yaml.ScalarNode {
		return errors.New("if: it is no expression")
	}
	source := strings.TrimSpace(condition.Value) // the whole is an expression, with and without ${}
	if inner, ok := strings.CutPrefix(source, "${"); ok && closing(inner) == len(inner)-1 {
		source = inner[:len(inner)-1]
	}
	if r.condition, err = p.compiled("${"+source+"}", ofRequest, aCondition); err != nil {
		return in("if", err)
	}
	return nil
}

// effects reads what a route does before it answers.
func (p *parser) effects(r *Route, raw *rawRoute) (err error) {
	if r.Delay, err = p.checked(&raw.Delay, ofRequest, aDuration, func(text string) error { _, err := durationOf(text); return err }); err != nil {
		return in("delay", err)
	}
	if r.Calls, err = p.calls(&raw.Calls); err != nil {
		return in("calls", err)
	}
	if r.Command, err = p.command(raw.Run); err != nil {
		return in("run", err)
	}
	err = pairs(&raw.Set, func(name string, node *yaml.Node) error {
		value, err := p.value(node, ofRequest)
		r.set = append(r.set, assignment{name, value})
		return err
	})
	if err != nil {
		return in("set", err)
	}
	if r.Log, err = p.optional(&raw.Log, ofRequest); err != nil {
		return in("log", err)
	}
	if r.Exit, err = p.checked(&raw.Exit, ofRequest, aNumber, func(text string) error { _, err := intOf(text, 0, 255); return err }); err != nil {
		return in("exit", err)
	}
	return nil
}

// answer reads what a route answers.
func (p *parser) answer(r *Route, raw *rawRoute) (err error) {
	if r.status, err = p.checked(&raw.Status, ofRequest, aNumber, func(text string) error { _, err := intOf(text, minStatus, maxStatus); return err }); err != nil {
		return in("status", err)
	}
	if raw.GRPC != nil {
		if r.code, err = p.checked(&raw.GRPC.Code, ofRequest, aCode, func(text string) error { _, err := codeOf(text); return err }); err == nil {
			r.message, err = p.optional(&raw.GRPC.Message, ofRequest)
		}
		if err != nil {
			return in("grpc", err)
		}
	}
	if r.answers, err = p.headers(&raw.Headers); err != nil {
		return in("headers", err)
	}
	if r.body, err = p.optional(&raw.Body, ofRequest); err != nil {
		return in("body", err)
	}
	if !raw.JSON.IsZero() {
		if r.json, err = p.tree(&raw.JSON, 0); err != nil {
			return in("json", err)
		}
	}
	switch r.Fail {
	case "", Reset, Close, Hang:
	default:
		return fmt.Errorf("fail: %q is none of reset, close and hang", raw.Fail)
	}
	if r.Files, err = p.checked(&raw.Files, ofRequest, aName, absolute); err != nil {
		return in("files", err)
	}
	ways := 0
	for _, given := range []bool{r.body != nil, r.json != nil, r.Files != nil, r.Fail != "", r.Unknown} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("it has more than one of body, json, files, fail and unknown")
	}
	return nil
}

func (p *parser) calls(node *yaml.Node) (calls []Call, err error) {
	err = pairs(node, func(name string, node *yaml.Node) error {
		node = resolved(node)
		raw := rawCall{URL: *node}
		if node.Kind == yaml.MappingNode {
			raw = rawCall{}
			if err := onlyKeys(node, "method", "url", "headers", "body", "timeout"); err != nil {
				return err
			}
			if err := node.Decode(&raw); err != nil {
				return err
			}
		}
		c, err := p.call(name, &raw)
		if err != nil {
			return err
		}
		calls = append(calls, *c)
		return nil
	})
	if len(calls) > maxCalls {
		return nil, fmt.Errorf("there are %d, more than %d", len(calls), maxCalls)
	}
	return calls, err
}

func (p *parser) call(name string, raw *rawCall) (*Call, error) {
	c := &Call{Name: name, Method: strings.ToUpper(raw.Method)}
	var err error
	if c.URL, err = p.checked(&raw.URL, ofRequest, aName, func(string) error { return nil }); err == nil && c.URL == nil {
		err = errors.New("it is missing")
	}
	if err == nil {
		err = checkURL(c.URL)
	}
	if err != nil {
		return nil, in("url", err)
	}
	if c.Body, err = p.optional(&raw.Body, ofRequest); err != nil {
		return nil, in("body", err)
	}
	if c.headers, err = p.headers(&raw.Headers); err != nil {
		return nil, in("headers", err)
	}
	switch {
	case c.Method == "" && c.Body != nil:
		c.Method = "POST"
	case c.Method == "":
		c.Method = "GET"
	}
	c.Timeout, err = timeout(raw.Timeout)
	return c, err
}

// defaultTimeout bounds a call and a command that state no time.
const defaultTimeout = 30 * time.Second

func timeout(text string) (time.Duration, error) {
	if text == "" {
		return defaultTimeout, nil
	}
	d, err := durationOf(text)
	switch {
	case err != nil:
		return 0, in("timeout", err)
	case d == 0:
		return 0, errors.New("timeout: it is 0")
	}
	return d, nil
}

// scriptOf returns what is wrong with the script of a shell's -c.
func scriptOf(before []*Value, script *Value) error {
	program, known := before[0].constant()
	flag, given := before[1].constant()
	text, fixed := script.constant()
	if name := path.Base(program); !known || !given || !fixed || flag != "-c" || name != "sh" && name != "bash" && name != "ash" {
		return nil
	}
	return shelltree.Check(text)
}

func (p *parser) command(raw *rawRun) (*Command, error) {
	if raw == nil {
		return nil, nil
	}
	c := &Command{CGI: raw.CGI}
	for i := range raw.Command {
		word, err := p.value(&raw.Command[i], ofRequest)
		if err == nil && i == 2 {
			err = scriptOf(c.words, word)
		}
		if err != nil {
			return nil, in(fmt.Sprintf("command[%d]", i), err)
		}
		c.words = append(c.words, word)
	}
	err := checkScript(&raw.Script)
	if err == nil {
		c.script, err = p.checked(&raw.Script, ofRequest, aText, shelltree.Check)
	}
	if err != nil {
		return nil, in("script", err)
	}
	if (len(c.words) == 0) == (c.script == nil) {
		return nil, errors.New("it has not one of command and script")
	}
	c.Timeout, err = timeout(raw.Timeout)
	return c, err
}
