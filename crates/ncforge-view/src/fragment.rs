//! Drawings as part of somebody else's page: a notebook shows them below a cell.
//!
//! Its style reaches nothing outside, and follows the notebook's light or dark theme rather than the system's. (Notebooks whose theme
//! is unknown get the light one, on paper of its own.)

use maud::{Markup, PreEscaped, html};
use ncforge_ops::doctor::{Anatomy, Commands, Report};

use crate::doctor;
use crate::page::{DRAWINGS, file_section};

/// The dark themes of JupyterLab, of Visual Studio Code and of sites that are made of notebooks.
const DARK: &str = "[data-jp-theme-light=\"false\"] .ncforge-view, .vscode-dark .ncforge-view, [data-theme=\"dark\"] .ncforge-view";

/// A file as [`info_page`](crate::info_page) draws it, as a part of a page.
pub fn info_fragment(file: &Anatomy) -> String {
    fragment(&file_section(file, None, true))
}

/// The findings on a file as [`doctor_page`](crate::doctor_page) draws them, as a part of a page.
pub fn doctor_fragment(report: &Report, file: &Anatomy, front: &dyn Commands) -> String {
    fragment(&doctor::section(report, file, front, None, true))
}

fn fragment(body: &Markup) -> String {
    // The class stands twice: notebooks have rules of their own for tables, which must lose.
    let style = format!(
        ".ncforge-view {{\n{}}}\n{DARK} {{\n{}}}\n.ncforge-view.ncforge-view {{\n{}{}{}}}\n",
        include_str!("light.css"),
        include_str!("dark.css"),
        include_str!("fragment.css"),
        include_str!("style.css"),
        DRAWINGS,
    );
    html! { div.ncforge-view { style { (PreEscaped(style)) } (body) } }.into_string()
}
