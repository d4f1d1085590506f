//! What the file's ending asks for, and how it is made of SVG. Fonts come with the program: a machine
//! without a screen has none, and a picture is to be the same everywhere.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use resvg::{tiny_skia, usvg};

use super::draw::FONT;
use heapscribe_diagnostics::Problem;

/// A form of picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Scalable, for the screen.
    Svg,
    /// For print.
    Pdf,
    /// Points, twice as many as the picture has units.
    Png,
}

/// Points of a PNG for each unit of the picture.
const POINTS: f32 = 2.0;

impl Form {
    /// The form that a path asks for by its ending.
    pub fn of(path: &Path) -> Result<Form, Problem> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(Form::Svg),
            Some("pdf") => Ok(Form::Pdf),
            Some("png") => Ok(Form::Png),
            _ => Err(Problem::new(
                format!("cannot tell the format from the name {}", path.display()),
                "use the extension .pdf, .svg or .png",
            )),
        }
    }

    /// The file's bytes.
    pub fn bytes(self, svg: String) -> Result<Vec<u8>> {
        match self {
            Form::Svg => Ok(svg.into_bytes()),
            Form::Pdf => pdf(&svg),
            Form::Png => png(&svg),
        }
    }
}

fn tree(svg: &str) -> Result<usvg::Tree> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    fonts.set_sans_serif_family(FONT);
    let options = usvg::Options {
        font_family: FONT.to_owned(),
        fontdb: Arc::new(fonts),
        font_resolver: any_font(),
        ..usvg::Options::default()
    };
    usvg::Tree::from_str(svg, &options).context("the plot is not a valid SVG")
}

/// There is one font, whatever is asked for.
fn any_font() -> usvg::FontResolver<'static> {
    let only =
        |_: &usvg::Font, fonts: &mut Arc<usvg::fontdb::Database>| fonts.faces().next().map(|face| face.id);
    usvg::FontResolver { select_font: Box::new(only), ..usvg::FontResolver::default() }
}

fn pdf(svg: &str) -> Result<Vec<u8>> {
    let (conversion, page) = (svg2pdf::ConversionOptions::default(), svg2pdf::PageOptions::default());
    svg2pdf::to_pdf(&tree(svg)?, conversion, page).map_err(|e| anyhow!("cannot create a PDF: {e}"))
}

fn png(svg: &str) -> Result<Vec<u8>> {
    let tree = tree(svg)?;
    let size = tree.size().to_int_size().scale_by(POINTS).context("the plot has no size")?;
    let mut points = tiny_skia::Pixmap::new(size.width(), size.height()).context("the plot is too large")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(POINTS, POINTS), &mut points.as_mut());
    points.encode_png().context("cannot create a PNG")
}
