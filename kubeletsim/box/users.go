package box

import (
	"context"
	"slices"
	"strconv"
	"strings"
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
