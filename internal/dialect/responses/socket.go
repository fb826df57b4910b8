package responses

import "net/http"

func (a *api) socket(w http.ResponseWriter, r *http.Request, owner string) error { return errGone }
