package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"sentonce/views"
)

// pathEvidenceFile is where exports are downloaded (DESIGN §9). The address is guarded in every version, also in one that makes no exports.
const pathEvidenceFile = "/evidence.zip"

// refuseEvidenceFile tells those who may export that this version makes no exports.
func (s *Server) refuseEvidenceFile(echo.Context) error {
	return pageFail(http.StatusNotFound, "This version makes no exports. The page says what an export will hold.").
		leading(views.Link{Text: "Evidence", Path: views.PathEvidence})
}
