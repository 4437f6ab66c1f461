package box

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// User is whom a command runs as. The zero value is root.
type User struct {
	UID, GID int64
	// Groups are the supplementary groups.
	Groups []int64
}

// allGroups returns the user's group and the supplementary ones.
func (u User) allGroups() []int64 {
	groups := []int64{u.GID}
	for _, group := range u.Groups {
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	return groups
}

// entry returns the fields of the line of a file such as /etc/passwd that has the ID; nil if there
// is none.
func (s *session) entry(file string, id int64) []string {
	data, err := s.machine.Files.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(fields) > 2 && fields[2] == strconv.FormatInt(id, 10) {
			return fields
		}
	}
	return nil
}

// userName returns the user's name; empty if /etc/passwd has none.
func (s *session) userName() string { return firstOf(s.entry("/etc/passwd", s.machine.User.UID)) }

// ownerName returns the user's name, or the ID for a user without one.
func (s *session) ownerName() string {
	if name := s.userName(); name != "" {
		return name
	}
	return strconv.FormatInt(s.machine.User.UID, 10)
}

func (s *session) groupName(group int64) string { return firstOf(s.entry("/etc/group", group)) }

// home returns the user's home directory: the root directory if /etc/passwd has none.
func (s *session) home() string {
	if fields := s.entry("/etc/passwd", s.machine.User.UID); len(fields) > 5 {
		return fields[5]
	}
	return "/"
}

func firstOf(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

func id(_ context.Context, p *proc) int {
	flags, _, ok := p.parse("ungGr", "")
	if !ok {
		return 1
	}
	user := p.machine.User
	text := func(id int64, name string) string {
		if has(flags, 'n') && name != "" {
			return name
		}
		return strconv.FormatInt(id, 10)
	}
	switch {
	case has(flags, 'u'):
		p.print("%s\n", text(user.UID, p.userName()))
	case has(flags, 'g'):
		p.print("%s\n", text(user.GID, p.groupName(user.GID)))
	case has(flags, 'G'):
		var groups []string
		for _, group := range user.allGroups() {
			groups = append(groups, text(group, p.groupName(group)))
		}
		p.print("%s\n", strings.Join(groups, " "))
	default:
		named := func(id int64, name string) string {
			if name == "" {
				return strconv.FormatInt(id, 10)
			}
			return strconv.FormatInt(id, 10) + "(" + name + ")"
		}
		var groups []string
		for _, group := range user.allGroups() {
			groups = append(groups, named(group, p.groupName(group)))
		}
		p.print("uid=%s gid=%s groups=%s\n", named(user.UID, p.userName()), named(user.GID, p.groupName(user.GID)), strings.Join(groups, ","))
	}
	return 0
}

func whoami(_ context.Context, p *proc) int {
	name := p.userName()
	if name == "" {
		return p.fail("unknown uid %d", p.machine.User.UID)
	}
	p.print("%s\n", name)
	return 0
}

// getent looks for entries of the files that the C library reads: by their name, their number or, of hosts, their
// address, and for hosts in DNS. Names outside of the cluster are unknown.
func getent(ctx context.Context, p *proc) int {
	_, names, ok := p.parse("", "si")
	if !ok {
		return 1
	}
	if len(names) == 0 {
		return p.fail("a database is needed")
	}
	kind, keys := names[0], names[1:]
	separator := ":"
	switch kind {
	case "passwd", "group":
	case "hosts", "ahosts", "ahostsv4":
		kind, separator = "hosts", ""
	default:
		return p.unsupported(kind)
	}
	entries, code := p.allLines(ctx, []string{"/etc/" + kind})
	if code != 0 {
		return code
	}
	for _, key := range keys {
		found := false
		for _, line := range entries {
			if fields := entryFields(line, separator); len(fields) > 0 && namesEntry(fields, key, separator == "") {
				found = true
				p.printEntry(line, separator)
				break
			}
		}
		if !found && separator == "" && p.machine.Network != nil {
			got, known, err := p.printAddress(ctx, key)
			if err != nil {
				return p.broken(ctx, err)
			}
			if known {
				if !got {
					code = exitNoEntry
				}
				continue
			}
		}
		switch {
		case found:
		case separator == "" && p.machine.Unknown:
			p.guessThat("the host name " + unknown.Show(key) + " is known")
			code = exitNoEntry
		default:
			code = exitNoEntry
		}
	}
	for _, line := range entries {
		if len(keys) == 0 && len(entryFields(line, separator)) > 0 {
			p.printEntry(line, separator)
		}
	}
	return code
}

// exitNoEntry is the exit code of getent if an entry is missing.
const exitNoEntry = 2

// entryFields returns the fields of a line; nil if it has none.
func entryFields(line, separator string) []string {
	line, _, _ = strings.Cut(line, "#")
	if separator == "" {
		return strings.Fields(line)
	}
	if strings.TrimSpace(line) == "" {
		return nil
	}
	return strings.Split(line, separator)
}

// namesEntry reports whether a key is the entry's name or number; of hosts, any of its fields.
func namesEntry(fields []string, key string, host bool) bool {
	if host {
		return slices.Contains(fields, key)
	}
	return fields[0] == key || len(fields) > 2 && fields[2] == key
}

func (p *proc) printEntry(line, separator string) {
	if separator == "" {
		fields := entryFields(line, separator)
		line = fmt.Sprintf("%-15s %s", fields[0], strings.Join(fields[1:], " "))
	}
	p.print("%s\n", line)
}

// printAddress prints the first address that DNS has for a name. known is false for a name outside of the cluster.
func (p *proc) printAddress(ctx context.Context, name string) (found, known bool, err error) {
	if err := p.sleep(ctx, networkDelay); err != nil {
		return false, true, err
	}
	config, r := p.resolver(), dns.Resolution{}
	served, err := p.machine.Network.Names(ctx, &config, p.draw(name), func(zone *dns.Zone) { r = zone.Resolve(&config, name) })
	if err != nil {
		return false, true, err
	}
	outcome := served.Outcome
	if r.Code == dns.NoAnswer {
		outcome = reach.NoNameServer
	}
	if err := p.sleep(ctx, outcome.After()+served.Late); err != nil {
		return false, true, err
	}
	if len(r.Addresses) > 0 {
		p.print("%-15s %s\n", r.Addresses[0], r.Name)
	}
	return len(r.Addresses) > 0, r.Code != dns.Outside, nil
}
