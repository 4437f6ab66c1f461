package exchange

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Request is an HTTP request to be sent to each server. ${NAME:PATH} in its path, headers and
// body stands for a value in the server's answer to the request NAME of the same case, such as
// ${create:metadata.uid}.
type Request struct {
	// Name is unique within its case.
	Name   string
	Method string
	// Path includes the query.
	Path   string
	Header map[string]string
	Body   string
	// From names the request whose answer, a JSON object changed by Change, is the body.
	From   string
	Change func(object map[string]any)
	// Until is the status to wait for: the request is sent again until it is answered so.
	Until int
	// Waits marks a request that takes its time, such as a watch until its timeoutSeconds. Those that
	// follow each other are sent at once.
	Waits bool
	// Setup marks a request whose answer is not compared, since it only prepares others.
	Setup bool
}

// Case is a sequence of requests about objects that no other case uses.
type Case struct {
	Name     string
	Requests []Request
	// Parallel cases only wait: they are sent side by side.
	Parallel bool
}

// Area is the last element of the case's name.
func (c *Case) Area() string { return c.Name[strings.LastIndex(c.Name, "/")+1:] }

// Add appends a request.
func (c *Case) Add(r Request) { c.Requests = append(c.Requests, r) }

// Media types of requests and answers.
const (
	JSON     = "application/json"
	YAML     = "application/yaml"
	Protobuf = "application/vnd.kubernetes.protobuf"
)

// reference matches ${NAME:PATH}.
var reference = regexp.MustCompile(`\$\{([^:}]+):([^}]+)\}`)

// expand replaces references by values of the server's earlier answers. A value that the answer
// does not have is empty.
func (s *session) expand(text string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		parts := reference.FindStringSubmatch(found)
		var tree any
		if json.Unmarshal(s.bodies[parts[1]], &tree) != nil {
			return ""
		}
		for _, key := range strings.Split(parts[2], ".") {
			object, _ := tree.(map[string]any)
			tree = object[key]
		}
		if tree == nil {
			return ""
		}
		return fmt.Sprint(tree)
	})
}

// body returns the body to send.
func (s *session) body(r *Request) (string, error) {
	if r.From == "" {
		return s.expand(r.Body), nil
	}
	var object map[string]any
	if err := json.Unmarshal(s.bodies[r.From], &object); err != nil {
		object = map[string]any{} // what the server sent is compared where it was asked for
	}
	if r.Change != nil {
		r.Change(object)
	}
	data, err := json.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("changing the answer to %s: %w", r.From, err)
	}
	return s.expand(string(data)), nil
}
