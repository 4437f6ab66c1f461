package exchange

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// session holds the answers of one server in a case.
type session struct {
	server *Server
	// bodies are the answers by the names of their requests.
	bodies map[string][]byte
	// names replaces what a server chose (UIDs, generated names) in all strings.
	names map[string]string
	// made counts the objects of one kind and name that had different UIDs.
	made map[string]int
	// versions are the resourceVersions of an object, by its UID, in the order in which they were
	// seen.
	versions map[string][]string
}

func newSession(server *Server) *session {
	return &session{server: server, bodies: map[string][]byte{}, names: map[string]string{}, made: map[string]int{}, versions: map[string][]string{}}
}

var (
	uuid      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timestamp = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})`)
	allocated = regexp.MustCompile(`\b10\.96\.[0-9]{1,3}\.[0-9]{1,3}\b`)
	volume    = regexp.MustCompile(`\bkube-api-access-[a-z0-9]{5}\b`)
	// made matches the names that servers generate for the prefix of the requests.
	made = regexp.MustCompile(`\b([Mm]ade-)[a-z0-9]{5}\b`)
	// age matches a cell of a table.
	age   = regexp.MustCompile(`^[0-9]+[smh]([0-9]+s)?$`)
	token = regexp.MustCompile(`^eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+$`)
	// revision matches the revisions that messages contain.
	revision = regexp.MustCompile(`(ResourceVersion in (?:the precondition|record) \(|current: |resource version: |compacted revision )[0-9]+`)
)

// learn looks for the names that the server chose in an answer.
func (s *session) learn(tree any) {
	switch tree := tree.(type) {
	case []any:
		for _, item := range tree {
			s.learn(item)
		}
	case map[string]any:
		if metadata, ok := tree["metadata"].(map[string]any); ok {
			s.learnObject(tree, metadata)
		}
		for _, key := range slices.Sorted(maps.Keys(tree)) {
			s.learn(tree[key])
		}
	}
}

func (s *session) learnObject(object, metadata map[string]any) {
	name, _ := metadata["name"].(string)
	prefix, _ := metadata["generateName"].(string)
	if suffix, ok := strings.CutPrefix(name, prefix); ok && prefix != "" && len(suffix) == 5 {
		if s.names[name] == "" {
			s.names[name] = fmt.Sprintf("%s<generated %d>", prefix, len(s.names))
		}
	}
	uid, _ := metadata["uid"].(string)
	if uid == "" {
		return
	}
	if s.names[uid] == "" {
		id := fmt.Sprintf("%v %v", metadata["namespace"], name)
		s.made[id]++
		s.names[uid] = fmt.Sprintf("<UID %d of %s>", s.made[id], s.replace(id))
	}
	version, _ := metadata["resourceVersion"].(string)
	if version != "" && !slices.Contains(s.versions[uid], version) {
		s.versions[uid] = append(s.versions[uid], version)
	}
}

// normal returns a tree in which what each server chooses is replaced.
func (s *session) normal(tree any) any {
	switch tree := tree.(type) {
	case []any:
		out := make([]any, len(tree))
		for i, item := range tree {
			out[i] = s.normal(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(tree))
		for key, value := range tree {
			out[key] = s.normalField(key, value)
		}
		if metadata, ok := tree["metadata"].(map[string]any); ok && metadata["resourceVersion"] != nil {
			normal := out["metadata"].(map[string]any)
			normal["resourceVersion"] = s.version(metadata)
		}
		return out
	case string:
		return s.replace(tree)
	default:
		return tree
	}
}

// version replaces the resourceVersion of an object by its number, which shows whether a write
// has changed it.
func (s *session) version(metadata map[string]any) string {
	uid, _ := metadata["uid"].(string)
	version, _ := metadata["resourceVersion"].(string)
	if at := slices.Index(s.versions[uid], version); at >= 0 {
		return fmt.Sprintf("<version %d of the object>", at+1)
	}
	return "<version>"
}

func (s *session) normalField(key string, value any) any {
	switch key {
	case "nodePort", "healthCheckNodePort":
		if _, ok := value.(json.Number); ok && fmt.Sprint(value) != "0" {
			return "<port>"
		}
	case "continue":
		if text, ok := value.(string); ok && text != "" {
			return "<continue>"
		}
	case "resourceVersion":
		if text, ok := value.(string); ok && text != "" && text != "0" {
			return "<version>"
		}
	case "storageVersionHash":
		return value
	}
	return s.normal(value)
}

// replace replaces in a string what servers choose.
func (s *session) replace(text string) string {
	if token.MatchString(text) {
		return s.claims(text)
	}
	text = uuid.ReplaceAllStringFunc(text, func(uid string) string {
		if name := s.names[uid]; name != "" {
			return name
		}
		return "<UID>"
	})
	for chosen, name := range s.names {
		if len(chosen) != len("00000000-0000-0000-0000-000000000000") && strings.Contains(text, chosen) {
			text = strings.ReplaceAll(text, chosen, name)
		}
	}
	text = timestamp.ReplaceAllStringFunc(text, func(at string) string {
		if _, fraction, ok := strings.Cut(at, "."); ok {
			return fmt.Sprintf("<time with %d digits>", len(strings.TrimRight(fraction, "Z")))
		}
		return "<time>"
	})
	text = allocated.ReplaceAllString(text, "<cluster IP>")
	text = volume.ReplaceAllString(text, "kube-api-access-<generated>")
	text = made.ReplaceAllString(text, "${1}<generated>")
	text = age.ReplaceAllString(text, "<age>")
	text = revision.ReplaceAllString(text, "${1}<version>")
	if s.server.host != nil {
		text = s.server.host.ReplaceAllString(text, "<host>")
	}
	return text
}

// claims replaces a token by its header and claims, with durations in place of times.
func (s *session) claims(text string) string {
	var out []string
	for _, part := range strings.Split(text, ".")[:2] {
		data, err := base64.RawURLEncoding.DecodeString(part)
		var claims map[string]any
		if err != nil || unmarshal(data, &claims) != nil {
			return text
		}
		issued, _ := claims["iat"].(json.Number)
		from, _ := issued.Int64()
		for _, key := range []string{"exp", "nbf", "iat"} {
			if at, ok := claims[key].(json.Number); ok {
				seconds, _ := at.Int64()
				claims[key] = seconds - from
			}
		}
		for _, key := range []string{"jti", "kid"} {
			if claims[key] != nil {
				claims[key] = "<" + key + ">"
			}
		}
		out = append(out, s.replace(encode(claims)))
	}
	return "token " + strings.Join(out, " ")
}

// encode prints a value as JSON without escapes for HTML.
func encode(value any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}
