package views

import (
	"fmt"
	"strings"

	"github.com/a-h/templ"
)

// key sets the ids of a field apart from those of another form.
func (in Input) key() string { return in.Form + in.Name }

func (in Input) kind() string {
	if in.Type == "" {
		return "text"
	}
	return in.Type
}

// described joins the ids of what describes a field: its hint and its fault.
func (in Input) described(errs FieldErrors) templ.Attributes {
	var ids []string
	a := templ.Attributes{}
	if in.Hint != "" {
		ids = append(ids, "h-"+in.key())
	}
	if errs.Of(in.Name) != "" {
		ids = append(ids, "e-"+in.key())
		a["aria-invalid"] = "true"
	}
	if len(ids) > 0 {
		a["aria-describedby"] = strings.Join(ids, " ")
	}
	return a
}

func (in Input) selectAttributes(errs FieldErrors) templ.Attributes {
	a := in.described(errs)
	a["required"] = in.Required
	return a
}

func (in Input) areaAttributes(errs FieldErrors) templ.Attributes {
	a := in.selectAttributes(errs)
	if in.Max > 0 {
		a["maxlength"] = fmt.Sprint(in.Max)
		a["data-count"] = "count-" + in.key()
	}
	return a
}

func (in Input) attributes(errs FieldErrors) templ.Attributes {
	a := in.selectAttributes(errs)
	if in.kind() != "password" {
		a["value"] = in.Value
	}
	if in.Autocomplete != "" {
		a["autocomplete"] = in.Autocomplete
	}
	if in.Autocomplete == "one-time-code" {
		a["inputmode"] = "numeric"
	}
	if in.Max > 0 {
		a["maxlength"] = fmt.Sprint(in.Max)
	}
	if in.Focus {
		a["data-focus"] = true
	}
	return a
}

// groupAttributes describe a group of choices. aria-invalid does not belong on a group.
func (in Input) groupAttributes(errs FieldErrors) templ.Attributes {
	a := in.described(errs)
	delete(a, "aria-invalid")
	return a
}

// radioID gives the first choice the id that the error summary leads to.
func radioID(name string, i int) string {
	if i == 0 {
		return "f-" + name
	}
	return fmt.Sprintf("f-%s-%d", name, i)
}
